package faults

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/e2e"
	"batch.example/batch/journal"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// crashIDs are the ends of the instance ids of a crash run. What an instance does
// depends on that alone, so that all runs must predict the same.
var crashIDs = []string{"one", "two", "three"}

// crashAnswer is the reply to an instance that has received n replies. Each command
// adds to the output of the one before: one that ran twice in a container,
// or not at all, shows in the patch.
func crashAnswer(name string, n int) stub.Answer {
	cost := 0.25
	answer := func(a stub.Answer) stub.Answer {
		a.Cost = &cost
		return a
	}
	switch n {
	case 0:
		return answer(stub.Bash("echo " + name + " >> work.txt; git add -N work.txt; wc -l work.txt"))
	case 1:
		return answer(stub.Text("no command"))
	case 2:
		return answer(stub.Bash("wc -l < work.txt >> work.txt; printf 'caf\\303\\251\\r\\n' >> work.txt; cat work.txt"))
	case 3:
		return answer(stub.Bash("git diff > /tmp/patch; sleep 0.1; echo $((0$(cat /tmp/n 2>/dev/null) + 1)) | tee /tmp/n; exit 3"))
	default:
		return answer(stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat /tmp/patch /tmp/n"))
	}
}

// crashRun is a run that is killed, with everything that observes it.
type crashRun struct {
	t       *testing.T
	dir     string
	prefix  string // of its instances' ids
	workers int
	server  *stub.Server
	lives   int
	deaths  int
	args    []string                                     // flags of every `batch run`
	env     []string                                     // of each process
	out     string                                       // what the last process printed
	wrong   func(name string, n int) (stub.Answer, bool) // what the server does instead of answering; may be nil

	mu        sync.Mutex
	kept      map[string]int    // replies in an instance's journal when this process began
	asked     map[string]int    // requests by digest
	again     int               // repeated requests whose answer no journal had
	charged   float64           // US dollars
	violation []string          // what must never happen
	want      map[string]string // patches, once known
	watched   int
}

func newCrashRun(t *testing.T, workers int) *crashRun {
	t.Helper()
	r := &crashRun{
		t: t, dir: t.TempDir(), workers: workers, prefix: "crash-" + strings.ToLower(rand.Text()[:8]) + "__",
		kept: map[string]int{}, asked: map[string]int{},
	}
	var rows strings.Builder
	for _, name := range crashIDs {
		fmt.Fprintf(&rows, `{"instance_id":"%s%s","problem_statement":"task of <%s>","image_name":"batch-demo/demo__slug-1:latest"}`+"\n", r.prefix, name, name)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r.server = stub.NewServerFunc(t, r.answer)
	return r
}

// answer is the model. It checks that no reply in a journal is requested again.
func (r *crashRun) answer(_ int, req *stub.Request) stub.Answer {
	body := string(req.Body)
	_, rest, _ := strings.Cut(body, `task of \u003c`)
	if rest == "" {
		_, rest, _ = strings.Cut(body, "task of <")
	}
	name := rest[:strings.IndexAny(rest, `\>`)]
	// A reply in the wrong form is not in the conversation, but its error message is.
	n := req.Replies() + strings.Count(body, "Nothing was run, because your reply could not be used")
	r.mu.Lock()
	defer r.mu.Unlock()
	if n < r.kept[name] {
		r.violate("%s: reply %d was asked for again, although %d are in its journal", name, n+1, r.kept[name])
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(req.Body))
	if r.asked[digest]++; r.asked[digest] > 1 {
		r.again++
	}
	if r.wrong != nil {
		if a, ok := r.wrong(name, n); ok {
			return a
		}
	}
	a := crashAnswer(name, n)
	r.charged += *a.Cost
	return a
}

// violate is called with r.mu held.
func (r *crashRun) violate(format string, args ...any) {
	if len(r.violation) < 10 {
		r.violation = append(r.violation, fmt.Sprintf(format, args...))
	}
}

// command is the next command, alternately `batch run` and `batch resume`.
func (r *crashRun) command(args ...string) *exec.Cmd {
	own := []string{"-w", fmt.Sprint(r.workers), "-q"}
	line := append([]string{"run", "--subset", "rows.jsonl", "-m", "openai/stub-1", "-o", "out"}, r.args...)
	if _, err := os.Stat(filepath.Join(r.dir, "out", "manifest.json")); err == nil && r.lives%2 == 1 {
		line = []string{"resume", "out"}
	}
	cmd := e2e.Batch(r.t, r.dir, slices.Concat(line, own, args)...)
	cmd.Env = append(append(cmd.Env, "OPENAI_BASE_URL="+r.server.URL, "OPENAI_API_KEY=none-needed"), r.env...)
	return cmd
}

// live runs the program until it ends or kills itself, and
// reports whether it was killed.
func (r *crashRun) live(args ...string) (died bool) {
	r.t.Helper()
	code, died := r.liveWith(0, args...)
	return r.ended(code, died)
}

// liveFor runs the program and kills it after d if it still runs.
func (r *crashRun) liveFor(d time.Duration) (died bool) {
	r.t.Helper()
	code, died := r.liveWith(max(d, time.Nanosecond))
	return r.ended(code, died)
}

// ended counts the kills and requires every other exit code to be e2e.ExitOK.
func (r *crashRun) ended(code int, died bool) bool {
	r.t.Helper()
	if died {
		r.deaths++
	} else if code != e2e.ExitOK {
		r.t.Errorf("life %d: exit code %d, want %v\n%s", r.lives, code, e2e.ExitOK, r.out)
	}
	return died
}

// liveWith runs one process and watches its files. With a killAfter of zero it is not killed.
func (r *crashRun) liveWith(killAfter time.Duration, args ...string) (code int, died bool) {
	r.t.Helper()
	r.count()
	cmd := r.command(args...)
	r.lives++
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); r.watch(stop) }()
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	if killAfter > 0 {
		timer := time.AfterFunc(killAfter, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	_ = cmd.Wait()
	close(stop)
	<-done
	r.look()
	r.out = out.String()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return cmd.ProcessState.ExitCode(), status.Signaled() && status.Signal() == syscall.SIGKILL
}

// count reads how many replies each journal holds.
func (r *crashRun) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range crashIDs {
		records, _, err := journal.Read(filepath.Join(r.dir, "out", r.prefix+name, "journal.jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.violate("%s: %v", name, err)
		}
		r.kept[name] = 0
		for _, record := range records {
			if record.Type == journal.TypeReply {
				r.kept[name]++
			}
		}
	}
}

// watch reads the files repeatedly until stop is closed.
func (r *crashRun) watch(stop <-chan struct{}) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			r.look()
		}
	}
}

// look reads every file that is replaced as a whole. A file may be missing;
// one that exists must be whole.
func (r *crashRun) look() {
	out := filepath.Join(r.dir, "out")
	read := func(path string, parse func([]byte) error) {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err == nil {
			err = parse(data)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.watched++; err != nil {
			r.violate("%s, %d bytes: %v", path, len(data), err)
		}
	}
	whole := func(v any) func([]byte) error { return func(b []byte) error { return json.Unmarshal(b, v) } }
	read(filepath.Join(out, "preds.json"), whole(&map[string]struct{ ModelPatch string }{}))
	read(filepath.Join(out, "manifest.json"), whole(&manifest.Manifest{}))
	read(filepath.Join(out, "exit_statuses.yaml"), func(b []byte) error { return yaml.Unmarshal(b, &map[string]map[string][]string{}) })
	for _, name := range crashIDs {
		id := r.prefix + name
		read(filepath.Join(out, id, id+".traj.json"), whole(&results.Trajectory{}))
		read(filepath.Join(out, id, id+".patch"), func(b []byte) error {
			if want, known := r.want[name]; known && string(b) != want {
				return fmt.Errorf("the patch is %q", b)
			}
			return nil
		})
	}
}

// finish lets the run complete and checks what it left.
func (r *crashRun) finish(want map[string]string) {
	r.t.Helper()
	r.want = want
	if r.live() {
		r.t.Error("the last process died although no kill was asked for")
	}
	got := r.patches()
	for _, name := range crashIDs {
		if got[name] != want[name] {
			r.t.Errorf("%s: the prediction is %q, want %q", name, got[name], want[name])
		}
	}
	if n := e2e.ContainersOf(r.t, r.prefix); n != 0 {
		r.t.Errorf("%d containers are left, want 0", n)
	}
	leftovers, _ := filepath.Glob(filepath.Join(r.dir, "out", "*", ".*"))
	for _, path := range leftovers {
		r.t.Errorf("temporary file left over: %s", path)
	}
	for _, v := range r.violation {
		r.t.Error(v)
	}
	if r.watched == 0 {
		r.t.Error("the watcher read no file")
	}
	r.checkBill()
	if r.t.Failed() {
		r.tell()
	}
}

// checkBill compares the bill with what the provider charged. Every answer that a journal has is in it once.
// One that a kill cut off is counted by what was held for it, also if no price was known yet.
func (r *crashRun) checkBill() {
	r.t.Helper()
	if r.wrong != nil {
		return
	}
	bill, lost := e2e.Status(r.t, r.dir), 0.25*float64(r.again)
	if bill.Cost < r.charged-lost || bill.Spent < r.charged || r.deaths == 0 && (bill.Cost != r.charged || bill.Spent != r.charged) {
		r.t.Errorf("the provider charged $%v, $%v of it for lost answers; the bill is $%v, and $%v with what was held", r.charged, lost, bill.Cost, bill.Spent)
	}
}

// patches returns the predictions, which must equal the patch files.
func (r *crashRun) patches() map[string]string {
	patches := map[string]string{}
	for id, text := range e2e.Predictions(r.t, filepath.Join(r.dir, "out")) {
		file, err := os.ReadFile(filepath.Join(r.dir, "out", id, id+".patch"))
		if err != nil || string(file) != text {
			r.t.Errorf("%s: %v, the patch file is %q and the prediction %q", id, err, file, text)
		}
		patches[strings.TrimPrefix(id, r.prefix)] = text
	}
	return patches
}

// tell logs the journals of a run that failed.
func (r *crashRun) tell() {
	for _, name := range crashIDs {
		records, _, _ := journal.Read(filepath.Join(r.dir, "out", r.prefix+name, "journal.jsonl"))
		for _, record := range records {
			r.t.Logf("%s %d %s %s %.300s", name, record.Attempt, record.Time.Format("05.000"), record.Type, record.Data)
		}
	}
}

var calm struct {
	sync.Mutex
	patches map[string]string
	took    time.Duration
}

// undisturbed returns what the instances predict when nothing is killed.
func undisturbed(t *testing.T) map[string]string {
	t.Helper()
	calm.Lock()
	defer calm.Unlock()
	if calm.patches != nil {
		return calm.patches
	}
	r := newCrashRun(t, 2)
	began := time.Now()
	if r.live() {
		t.Fatal("an undisturbed run was killed")
	}
	took := time.Since(began)
	want := r.patches()
	if len(want) != len(crashIDs) || !strings.Contains(want["one"], "+one\n+1\n+caf\u00e9\r\n") || !strings.HasSuffix(want["one"], "\n1\n") {
		r.tell()
		t.Fatalf("an undisturbed run predicts %q", want)
	}
	r.finish(want)
	calm.patches, calm.took = want, took
	return want
}

// tally adds up what was observed in several runs.
type tally struct{ runs, deaths, again, resumed, adopted, underWay, replayed, watched int }

func (s *tally) add(r *crashRun) {
	s.runs++
	s.deaths += r.deaths
	s.again += r.again
	s.watched += r.watched
	for _, name := range crashIDs {
		records, _, err := journal.Read(filepath.Join(r.dir, "out", r.prefix+name, "journal.jsonl"))
		if err != nil {
			r.t.Error(err)
		}
		underWay := false
		for _, record := range records {
			switch record.Type {
			case journal.TypeAction, journal.TypeOutput:
				underWay = record.Type == journal.TypeAction
			case journal.TypeResume:
				s.resumed++
			case journal.TypeContainer:
				var c journal.ContainerData
				if json.Unmarshal(record.Data, &c) == nil && c.Adopted {
					s.adopted++
					if underWay {
						s.underWay++
					}
				} else if c.Replayed > 0 {
					s.replayed++
				}
			}
		}
	}
}

// check requires that what the tests are for has happened: processes killed in the
// middle of attempts, which were resumed in their own containers or by replay.
func (s tally) check(t *testing.T, deaths int) {
	t.Helper()
	if s.runs == 0 || s.deaths < deaths || s.resumed == 0 || s.adopted+s.replayed == 0 || s.adopted+s.replayed > s.resumed {
		t.Errorf("the crashes did not test enough: %s", s)
	}
}

func (s tally) String() string {
	return fmt.Sprintf("%d deaths in %d runs: %d attempts resumed, %d containers taken over, %d of them with a command under way, %d replayed; "+
		"%d replies asked for again that no journal had; watched %d times", s.deaths, s.runs, s.resumed, s.adopted, s.underWay, s.replayed, s.again, s.watched)
}
