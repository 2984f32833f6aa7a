package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
	"batch.example/batch/run/control"
)

// steering sends commands to a run that is killed again and again.
type steering struct {
	t    *testing.T
	dir  string
	rand *rand.Rand
	open []control.Command // without an answer yet, oldest first
	done []control.Command // with an answer
	n    int
}

// TestCommandsSurviveKills kills the runner at random moments while commands arrive. None is lost,
// and none is carried out twice.
func TestCommandsSurviveKills(t *testing.T) {
	tier.Rest(t, "run/control", "run/steering", "runner")
	t.Parallel()
	e2e.NeedDocker(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &steering{t: t, dir: t.TempDir(), rand: rand.New(rand.NewPCG(seed, 0))}
	s.write()
	args := []string{"run", "--subset", "rows.jsonl", "-m", "scripted/replies.yaml", "-o", "out", "-q", "-w", "3"}
	const rounds = 6
	for range rounds {
		cmd := s.start(args...)
		s.talk(time.Duration(300+s.rand.IntN(900)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		args = []string{"resume", "out", "-q"}
	}
	cmd := s.start(args...)
	for len(s.open) > 0 {
		s.send()
	}
	s.checkStatus()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != e2e.ExitIncomplete {
		t.Fatalf("the last run ended with %v, want exit code %d", err, e2e.ExitIncomplete)
	}
	s.checkSaid()
	s.checkLog()
}

// write writes rows and replies. An agent works for about ten seconds.
func (s *steering) write() {
	var rows, replies strings.Builder
	for i := range 4 {
		fmt.Fprintf(&rows, `{"instance_id":"told__%d","problem_statement":"p","image_name":"batch-demo/demo__slug-1:latest"}`+"\n", i)
	}
	fmt.Fprintln(&replies, "'*':")
	for range 60 {
		fmt.Fprintln(&replies, `- {bash: "true", delay: 150ms, cost: 0.001}`)
	}
	fmt.Fprintln(&replies, `- {bash: "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}`)
	for name, text := range map[string]string{"rows.jsonl": rows.String(), "replies.yaml": replies.String()} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// start starts a command and returns when the work in out can be controlled.
func (s *steering) start(args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := e2e.Batch(s.t, s.dir, args...)
	out, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("output-%d", s.rand.Uint64())))
	if err == nil {
		cmd.Stdout, cmd.Stderr = out, out
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < e2e.Patience; time.Sleep(5 * time.Millisecond) {
		if _, err := control.Dial(filepath.Join(s.dir, "out"), ""); err == nil {
			return cmd
		}
	}
	text, _ := os.ReadFile(out.Name())
	s.t.Fatalf("the run cannot be controlled: %s", text)
	return nil
}

// talk sends commands for a time; the last ones may be under way when it returns.
func (s *steering) talk(d time.Duration) {
	end := time.Now().Add(d)
	for time.Now().Before(end) {
		if len(s.open) < 2 {
			s.open = append(s.open, s.next())
		}
		s.send()
	}
	go func(c control.Command) { // its answer is lost
		if client, err := control.Dial(filepath.Join(s.dir, "out"), ""); err == nil {
			_, _ = client.Do(s.t.Context(), c)
		}
	}(s.add(s.next()))
}

func (s *steering) add(c control.Command) control.Command {
	s.open = append(s.open, c)
	return c
}

// next makes up a command. Instance 3 is only ever canceled.
func (s *steering) next() control.Command {
	s.n++
	c := control.Command{ID: fmt.Sprintf("c-%d", s.n), Program: "test"}
	switch s.rand.IntN(4) {
	case 0:
		c.Verb, c.Width = control.SetWidth, 3+s.rand.IntN(3)
	case 1:
		c.Verb, c.Budget = control.SetBudget, float64(10+s.rand.IntN(10))
	case 2:
		c.Verb, c.Instance = control.Cancel, "told__3"
	default:
		c.Verb, c.Instance, c.Text = control.Say, fmt.Sprintf("told__%d", s.rand.IntN(3)), fmt.Sprintf("words %d", s.n)
	}
	if s.n == 1 {
		c = control.Command{ID: c.ID, Verb: control.Cancel, Instance: "told__3", Program: "test"}
	}
	return c
}

// send sends the oldest command without an answer.
func (s *steering) send() {
	client, err := control.Dial(filepath.Join(s.dir, "out"), "")
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = client.Do(s.t.Context(), s.open[0])
	if fault.KindOf(err) == fault.Usage && !errors.Is(err, control.ErrNotRunning) {
		s.t.Fatalf("%+v: %v", s.open[0], err)
	}
	if err == nil {
		s.done, s.open = append(s.done, s.open[0]), s.open[1:]
	}
	time.Sleep(20 * time.Millisecond) // a person is slower
}

// checkStatus checks that the last width and the last budget are in force.
func (s *steering) checkStatus() {
	client, err := control.Dial(filepath.Join(s.dir, "out"), "")
	if err != nil {
		s.t.Fatal(err)
	}
	st, err := client.Status(s.t.Context(), false)
	if err != nil {
		s.t.Fatal(err)
	}
	width, budget := 3, 0.0
	for _, c := range s.done {
		switch c.Verb {
		case control.SetWidth:
			width = c.Width
		case control.SetBudget:
			budget = c.Budget
		}
	}
	if st.Width != width || st.Budget != budget || len(st.Cancels) != 1 {
		s.t.Errorf("width %d, want %d; budget %v, want %v; canceled %v", st.Width, width, st.Budget, budget, st.Cancels)
	}
}

// checkSaid checks that each message is in the conversation of its instance once.
func (s *steering) checkSaid() {
	said := map[string]int{}
	for i := range 3 {
		id := fmt.Sprintf("told__%d", i)
		text, err := os.ReadFile(filepath.Join(s.dir, "out", id, id+".traj.json"))
		if err != nil {
			s.t.Fatal(err)
		}
		var t struct {
			Messages []struct {
				Content any
				Extra   struct{ Command string }
			}
		}
		if err := json.Unmarshal(text, &t); err != nil {
			s.t.Fatal(err)
		}
		for _, m := range t.Messages {
			if m.Extra.Command != "" {
				said[fmt.Sprintf("%s %v", id, m.Content)]++
			}
		}
	}
	sent := 0
	for _, c := range s.done {
		if c.Verb != control.Say {
			continue
		}
		sent++
		if n := said[c.Instance+" "+c.Text]; n != 1 {
			s.t.Errorf("%s: %q is in the conversation %d times", c.Instance, c.Text, n)
		}
	}
	if sent != len(said) {
		s.t.Errorf("%d messages were sent, %d are in the conversations", sent, len(said))
	}
	s.t.Logf("%d commands, %d of them messages", len(s.done), sent)
}

// checkLog checks that each command is on record once.
func (s *steering) checkLog() {
	h, err := control.Read(filepath.Join(s.dir, "out"))
	if err != nil {
		s.t.Fatal(err)
	}
	times := map[string]int{}
	for _, r := range h.Commands {
		times[r.ID]++
	}
	for _, c := range s.done {
		if times[c.ID] != 1 {
			s.t.Errorf("command %s (%s) is on record %d times", c.ID, c.Verb, times[c.ID])
		}
	}
}
