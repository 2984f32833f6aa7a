package runs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/llm/stub"
)

// charging is a provider that charges for every call it receives, and counts them.
type charging struct {
	*stub.Server
	dir     string
	calls   atomic.Int64
	arrived chan struct{} // of calls that get no answer
}

// newCharging returns a provider that answers as answer says, n being the number of the call.
func newCharging(t *testing.T, cost float64, answer func(n int64, r *stub.Request) stub.Answer) *charging {
	t.Helper()
	e2e.NeedDocker(t)
	c := &charging{dir: t.TempDir(), arrived: make(chan struct{}, 100)}
	c.Server = stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		a := answer(c.calls.Add(1), r)
		a.Cost = &cost
		if a.Fault == stub.Silence {
			c.arrived <- struct{}{}
		}
		return a
	})
	e2e.OwnRows(t, c.dir)
	if err := os.WriteFile(filepath.Join(c.dir, "prices.json"), []byte(pricedStub), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *charging) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := e2e.Batch(t, c.dir, args...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+c.URL, "OPENAI_API_KEY="+e2e.PlantedKey)
	return cmd
}

// run returns a command that runs n instances.
func (c *charging) run(t *testing.T, n int, args ...string) *exec.Cmd {
	t.Helper()
	return c.command(t, append([]string{
		"run", "--subset", "rows.jsonl", "--slice", fmt.Sprintf(":%d", n), "-w", fmt.Sprint(n), "-m", "openai/stub-1", "-o", "out",
		"-c", "model.litellm_model_registry=prices.json",
	}, args...)...)
}

// killed starts a command, waits for calls that get no answer, and kills it.
func (c *charging) killed(t *testing.T, cmd *exec.Cmd, calls int) {
	t.Helper()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range calls {
		select {
		case <-c.arrived:
		case <-time.After(e2e.Patience):
			t.Errorf("a call did not come\n%s", out.String())
		}
	}
	signalTo(t, cmd.Process, os.Kill)
	_ = cmd.Wait()
}

// silentTwice is an agent that edits and submits. The second call of the first two instances gets no
// answer, once.
func silentTwice() func(int64, *stub.Request) stub.Answer {
	var silent atomic.Int64
	return func(_ int64, r *stub.Request) stub.Answer {
		a := e2e.WorkAndSubmit(r)
		if r.Replies() == 1 && silent.Add(1) <= 2 {
			a.Fault = stub.Silence
		}
		return a
	}
}

// Calls that are under way when the program is killed are in every bill, without a limit too.
func TestCallsUnderWayAtACrashAreInEveryBill(t *testing.T) {
	t.Parallel()
	c := newCharging(t, 0.25, silentTwice())
	c.killed(t, c.run(t, 2, "-q"), 2)
	bill := func(when string) {
		t.Helper()
		s := e2e.Status(t, c.dir)
		if served := 0.25 * float64(c.calls.Load()); s.Lost != 2 || s.Held != 0.5 || s.Spent != served {
			t.Errorf("%s: %d calls lost for $%v, $%v in all; want 2 for $0.5, $%v in all", when, s.Lost, s.Held, s.Spent, served)
		}
		text, err := c.command(t, "status", "out").CombinedOutput()
		want := fmt.Sprintf("; up to $%.2f with 2 calls of unknown cost", s.Spent)
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("%s: %v, want %q in\n%s", when, err, want, text)
		}
	}
	bill("after the crash")
	code, out := e2e.ExitCode(t, c.command(t, "resume", "out"))
	if want := "cost $1.00; up to $1.50 with 2 calls of unknown cost"; code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit code %d, want %q in\n%s", code, want, out)
	}
	bill("after the resume")
}

// Each try of a call is reserved: a provider that charges, and sends an answer that cannot be read,
// does not pass the limit.
func TestTriesOfACallDoNotPassTheLimit(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"with a known cost": true, "with a guess": false} {
		t.Run(name, func(t *testing.T) {
			c := newCharging(t, 0.028, func(n int64, r *stub.Request) stub.Answer {
				a := stub.Bash("true")
				if n > 1 || !first {
					a.Fault = stub.Half
				}
				return a
			})
			prices := `{"stub-1": {"input_cost_per_token": 2.5e-6, "output_cost_per_token": 2.5e-6}}` // a guess of $0.03
			if err := os.WriteFile(filepath.Join(c.dir, "prices.json"), []byte(prices), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out := e2e.ExitCode(t, c.run(t, 1, "-q", "--cost-limit-total", "0.1"))
			s := e2e.Status(t, c.dir)
			if n := c.calls.Load(); n != 3 || s.Spent > 0.1 || s.Spent < 0.028*float64(n) || code != 3 {
				t.Errorf("exit code %d, %d calls of $0.028 under a limit of $0.10, $%v counted; want 3, 3 calls, all counted\n%s", code, n, s.Spent, out)
			}
		})
	}
}

// Two processes that are killed with calls under way do not pass the limit together.
func TestTwoKillsWithCallsUnderWayDoNotPassTheLimit(t *testing.T) {
	t.Parallel()
	c := newCharging(t, 0.5, func(n int64, r *stub.Request) stub.Answer {
		a := stub.Bash("true")
		if n > 2 {
			a.Fault = stub.Silence
		}
		return a
	})
	c.killed(t, c.run(t, 2, "-q", "--cost-limit-total", "3"), 2)
	c.killed(t, c.command(t, "resume", "out", "-q"), 2)
	code, out := e2e.ExitCode(t, c.command(t, "resume", "out", "-q"))
	if n := c.calls.Load(); code != 3 || n != 6 {
		t.Errorf("exit code %d, %d calls of $0.50 under a limit of $3; want 3, 6 calls\n%s", code, n, out)
	}
}

// Cells of a sweep that are resumed side by side share its limit.
func TestCellsResumedSideBySideShareTheLimit(t *testing.T) {
	t.Parallel()
	c := newCharging(t, 0.25, func(int64, *stub.Request) stub.Answer {
		a := stub.Bash("true")
		a.Delay = 50 * time.Millisecond
		return a
	})
	first := c.command(t, "sweep", "--subset", "rows.jsonl", "--slice", ":1", "-m", "openai/stub-1", "--attempts", "3", "-w", "1", "-o", "out", "-q",
		"--cost-limit-total", "0.25", "--set", "model.litellm_model_registry=prices.json")
	if code, out := e2e.ExitCode(t, first); code != 3 {
		t.Fatalf("exit code %d, want 3\n%s", code, out)
	}
	var beside sync.WaitGroup
	for _, cell := range []string{"out/stub-1@1", "out/stub-1@2", "out/stub-1@3"} {
		cmd := c.command(t, "resume", cell, "-q", "--cost-limit-total", "2")
		beside.Go(func() {
			if code, out := e2e.ExitCode(t, cmd); code != 3 {
				t.Errorf("%s: exit code %d, want 3\n%s", cell, code, out)
			}
		})
	}
	beside.Wait()
	if n := c.calls.Load(); n != 8 {
		t.Errorf("%d calls of $0.25 under a limit of $2, want 8", n)
	}
	code, out := e2e.ExitCode(t, c.command(t, "resume", "out", "-q", "--cost-limit-total", "2.5"))
	if n := c.calls.Load(); n != 10 || code != 3 {
		t.Errorf("exit code %d, %d calls of $0.25 under a limit of $2.50; want 3, 10 calls\n%s", code, n, out)
	}
}
