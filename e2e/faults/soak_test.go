package faults

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/sample"
	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// TestSoak repeats sweeps while provider, engine and process fail at
// random. Every patch must equal the undisturbed run's, the cost counted as spent
// must be what the provider charged, and memory, files and containers must not
// increase. BATCH_SOAK sets the duration, such as 1h, with 64 workers; otherwise the test is short.
func TestSoak(t *testing.T) {
	tier.Rest(t, "llm", "attempt/session", "attempt/*.go", "journal", "results/*.go", "runner", "agent/*.go", "run/*.go", "sandbox/*.go", "docker/*.go", "docker/containers", "internal/box")
	e2e.NeedDocker(t)
	t.Parallel()
	s := newSoak(t)
	s.calm()
	// On a slow machine a round takes longer than the whole soak should: one has faults anyway.
	for began := time.Now(); !t.Failed() && (s.rounds < 2 || time.Since(began) < s.length); {
		s.round()
	}
	t.Logf("%d rounds: %d instances, %d calls, %d refused, %d cut or silent; %d processes killed, %d interrupted; "+
		"%d containers removed; %d attempts resumed, %d replayed, %d diverged",
		s.rounds, s.instances, s.calls, s.refused, s.cut, s.killed, s.stopped, s.removed, s.resumed, s.replayed, s.diverged)
	if s.refused+s.cut+s.killed+s.stopped+s.removed == 0 {
		t.Error("nothing was refused, cut, killed, interrupted or removed: nothing was tested")
	}
	if len(s.peaks) > 3 {
		t.Logf("peaks of memory in MiB, in order: %v", s.peaks)
		third := len(s.peaks) / 3
		if first, last := slices.Max(s.peaks[:third]), slices.Max(s.peaks[2*third:]); last > first*3/2+20 {
			t.Errorf("memory grew from %d to %d MiB, want about the same", first, last)
		}
	}
}

// soakCost is the provider's charge for a call, in US dollars: a power of two, so
// that sums are exact.
const soakCost = 0.25

type soak struct {
	t       *testing.T
	dir     string
	prefix  string // of the instances' ids
	names   []string
	workers int
	length  time.Duration
	server  *stub.Server
	want    map[string]string

	mu      sync.Mutex
	seed    uint64
	wild    bool           // faults are on
	life    int            // of this round
	asked   map[string]int // calls of this life, by instance and reply
	calls   int            // all that reached the provider
	refused int            // those not charged
	cut     int
	charged float64 // in this round
	doubt   float64 // in this round, what was charged for calls whose answer was cut

	rounds, instances, killed, stopped, removed int
	resumed, replayed, diverged                 int
	peaks                                       []int
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{
		t: t, dir: t.TempDir(), prefix: "soak-" + strings.ToLower(rand.Text()[:8]) + "__",
		workers: 8, length: 20 * time.Second,
	}
	if text := os.Getenv("BATCH_SOAK"); text != "" {
		length, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("BATCH_SOAK: %v", err)
		}
		s.length, s.workers = length, 64
	}
	s.seed = sample.Seed(t)
	var rows strings.Builder
	for i := range 2 * s.workers {
		name := fmt.Sprintf("n%03d", i)
		s.names = append(s.names, name)
		fmt.Fprintf(&rows, `{"instance_id":"%s%s","problem_statement":"task of <%s>","image_name":"batch-demo/demo__slug-1:latest"}`+"\n", s.prefix, name, name)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	prices := fmt.Sprintf(`{"stub-1": {"input_cost_per_token": %v, "output_cost_per_token": 0}}`, soakCost/10_000)
	if err := os.WriteFile(filepath.Join(s.dir, "prices.json"), []byte(prices), 0o600); err != nil {
		t.Fatal(err)
	}
	s.server = stub.NewServerFunc(t, s.answer)
	return s
}

// dice are for one decision, by the round, the process and what it is about: a seed repeats them
// in whatever order calls arrive.
func (s *soak) dice(about ...any) *mathrand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, s.rounds, s.life, about)
	return mathrand.New(mathrand.NewPCG(s.seed, h.Sum64()))
}

// chance is true in one of n calls while faults are on.
func (s *soak) chance(dice *mathrand.Rand, n int) bool { return s.wild && dice.IntN(n) == 0 }

// answer is the model and its provider, which charges for every call that it
// does not refuse.
func (s *soak) answer(_ int, r *stub.Request) stub.Answer {
	body := string(r.Body)
	_, name, _ := strings.Cut(body, "task of ")
	name = strings.TrimPrefix(strings.TrimPrefix(name, `\u003c`), "<")
	name = name[:strings.IndexAny(name, `\>`)]
	n := r.Replies() + strings.Count(body, "Nothing was run, because your reply could not be used")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	reply := fmt.Sprint(name, " ", n)
	s.asked[reply]++
	dice := s.dice(reply, s.asked[reply])
	always := s.wild && s.rounds == 1 && reply == s.names[0]+" 0" && s.asked[reply] == 1 // whatever the seed
	if s.chance(dice, 12) || always {
		s.refused++
		a := stub.Refusal([]int{429, 500, 503}[dice.IntN(3)], "", "not now")
		a.Header = map[string]string{"Retry-After": "0"}
		return a
	}
	s.charged += soakCost
	a := soakAnswer(name, n)
	a.Usage.Input = 10_000
	if s.chance(dice, 25) {
		s.cut++
		s.doubt += soakCost
		a.Fault = []stub.Fault{stub.Half, stub.Garbage, stub.Hangup, stub.Silence}[dice.IntN(4)]
	}
	return a
}

// soakAnswer is the reply to an instance that has received n replies.
func soakAnswer(name string, n int) stub.Answer {
	switch n {
	case 0:
		return stub.Bash("echo " + name + " >> work.txt; git add -N work.txt; date; (sleep 300 &)")
	case 1:
		return stub.Text("no command")
	case 2:
		return stub.Bash("seq 1 30000; wc -l < work.txt >> work.txt; printf 'caf\\303\\251\\r\\n' >> work.txt")
	case 3:
		return stub.Bash("git diff > /tmp/patch; echo $((0$(cat /tmp/n 2>/dev/null) + 1)) | tee /tmp/n; exit 3")
	default:
		return stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat /tmp/patch /tmp/n")
	}
}

// calm is a round without faults: every other round must predict the same.
func (s *soak) calm() {
	s.round()
	s.want = s.patches()
	for _, name := range s.names {
		if !strings.Contains(s.want[name], "+"+name+"\n+1\n+caf\u00e9\r\n") {
			s.t.Fatalf("the undisturbed run predicts %q for %s", s.want[name], name)
		}
	}
	s.wild = true
}

// round is one sweep in its own directory, over as many processes as it needs.
func (s *soak) round() {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, "out")); err != nil {
		s.t.Fatal(err)
	}
	s.charged, s.doubt = 0, 0
	undisturbed, lives := true, 0
	for ; ; lives++ {
		code, out, disturbed := s.live(lives)
		undisturbed = undisturbed && !disturbed
		if code == e2e.ExitOK {
			break
		}
		if lives > 50 {
			s.t.Fatalf("the sweep did not end after %d processes: exit code %d\n%s", lives, code, out)
		}
	}
	s.mu.Lock()
	s.rounds++
	s.mu.Unlock()
	s.instances += len(s.names)
	s.check(undisturbed)
}

// live is one process of the program, which may be killed.
func (s *soak) live(life int) (code int, out string, disturbed bool) {
	args := []string{
		"run", "--subset", "rows.jsonl", "-m", "openai/stub-1", "-o", "out", "-q", "-w", fmt.Sprint(s.workers),
		"--cost-limit-total", "1000000", "-c", "model.litellm_model_registry=prices.json",
		"-c", "model.model_kwargs.timeout=3", "-c", "model.model_kwargs.num_retries=20", "--retry", "transient=20", "--retry", "diverged=20",
	}
	s.mu.Lock()
	s.life, s.asked = life, map[string]int{}
	dice := s.dice("process")
	if s.chance(dice, 2) {
		args = append(args, "--inject", fmt.Sprintf("engine.%s:%d=%s", []string{"start", "create", "remove", "inspect", "attach"}[dice.IntN(5)],
			1+dice.IntN(3*s.workers), []string{"500", "503", "ECONNRESET", "EPIPE"}[dice.IntN(4)]))
	}
	kind, after := dice.IntN(4), time.Duration(dice.Int64N(int64(8*time.Second)))
	wild := s.wild && life < 20
	s.mu.Unlock()
	cmd := e2e.Batch(s.t, s.dir, args...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+s.server.URL, "OPENAI_API_KEY=none-needed")
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	var eyes sync.WaitGroup
	eyes.Go(func() { s.peaks = append(s.peaks, e2e.PeakMemory(cmd.Process.Pid)) })
	ended := make(chan struct{})
	if wild {
		eyes.Go(func() { s.removeSome(ended) })
		if kind > 0 {
			timer := time.AfterFunc(after, func() { s.end(kind, cmd) })
			defer timer.Stop()
		}
	}
	_ = cmd.Wait()
	close(ended)
	eyes.Wait()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return cmd.ProcessState.ExitCode(), text.String(), status.Signaled() || cmd.ProcessState.ExitCode() == e2e.ExitInterrupted
}

// end ends a process in one of three ways.
func (s *soak) end(kind int, cmd *exec.Cmd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case 1:
		s.killed++
		_ = cmd.Process.Kill()
	case 2:
		s.stopped++
		_ = cmd.Process.Signal(syscall.SIGTERM)
	case 3:
		s.stopped++
		_ = cmd.Process.Signal(os.Interrupt)
		time.Sleep(50 * time.Millisecond)
		_ = cmd.Process.Signal(os.Interrupt)
	}
}

// removeSome removes a container of the run from time to time.
func (s *soak) removeSome(ended <-chan struct{}) {
	engine := e2e.Connect(s.t)
	for look := 0; ; look++ {
		select {
		case <-ended:
			return
		case <-time.After(2 * time.Second):
		}
		owned, err := engine.Owned(s.t.Context())
		if err != nil {
			continue
		}
		for _, c := range owned {
			name, own := strings.CutPrefix(c.Instance, s.prefix)
			if !own {
				continue
			}
			s.mu.Lock()
			unlucky := s.chance(s.dice("remove", name, look), 8)
			s.mu.Unlock()
			if unlucky && engine.Remove(s.t.Context(), c.ID) == nil {
				s.removed++
				break
			}
		}
	}
}

func (s *soak) patches() map[string]string {
	patches := map[string]string{}
	for id, text := range e2e.Predictions(s.t, filepath.Join(s.dir, "out")) {
		patches[strings.TrimPrefix(id, s.prefix)] = text
	}
	return patches
}

// check examines what a round left.
func (s *soak) check(undisturbed bool) {
	s.t.Helper()
	if s.want != nil && !maps.Equal(s.patches(), s.want) {
		got := s.patches()
		for _, name := range s.names {
			if got[name] != s.want[name] {
				s.t.Errorf("%s: the prediction is %q, want %q", name, got[name], s.want[name])
			}
		}
	}
	if n := e2e.ContainersOf(s.t, s.prefix); n != 0 {
		s.t.Errorf("%d containers are left", n)
	}
	snap, err := results.Read(filepath.Join(s.dir, "out"))
	if err != nil {
		s.t.Fatal(err)
	}
	known := 0.0
	for _, r := range snap.Records {
		known += r.Cost
	}
	// A killed process may have received an answer that it did not record, and may
	// have recorded a call that it did not make: both count until it is known that
	// nothing was charged. A cut answer has no usage, and counts as the most that the call is
	// likely to cost.
	switch {
	case known > s.charged || s.charged > snap.Spent:
		s.t.Errorf("the provider charged %v, the replies cost %v and %v are counted as spent; want replies <= charged <= counted", s.charged, known, snap.Spent)
	case undisturbed && snap.Spent > s.charged+s.doubt:
		s.t.Errorf("the provider charged %v, %v of it without an answer, and %v are counted as spent; want at most twice the price of an unanswered call",
			s.charged, s.doubt, snap.Spent)
	}
	s.files()
}

// files looks for files that should not exist, and counts what happened.
func (s *soak) files() {
	err := filepath.WalkDir(filepath.Join(s.dir, "out"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name := d.Name(); strings.HasPrefix(name, ".") && name != ".batch.lock" && name != ".batch.id" || strings.Contains(name, "corrupt") {
			s.t.Errorf("temporary file left over: %s", path)
		}
		if d.Name() != "journal.jsonl" {
			return nil
		}
		records, torn, err := journal.Read(path)
		if torn > 0 {
			s.t.Errorf("%s ends with %d torn bytes", path, torn)
		}
		for _, record := range records {
			s.count(record)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

func (s *soak) count(record journal.Record) {
	switch record.Type {
	case journal.TypeResume:
		s.resumed++
	case journal.TypeContainer:
		var c journal.ContainerData
		if json.Unmarshal(record.Data, &c) == nil && c.Replayed > 0 {
			s.replayed++
		}
	case journal.TypeEnd:
		var end struct{ Record results.Record }
		if json.Unmarshal(record.Data, &end) == nil && end.Record.Outcome == vocab.OutcomeDiverged {
			s.diverged++
		}
	}
}
