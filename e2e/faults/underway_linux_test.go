package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// underWay is a run of one instance whose first command waits until it is released. The
// command writes a line each time that it runs, and the patch contains them.
type underWay struct {
	*testing.T
	engine *enginetest.Daemon
	dir    string
	server *stub.Server
	cmd    *exec.Cmd
	said   bytes.Buffer
	hidden bool // each run has a pid namespace of its own, as in a container
}

func newUnderWay(t *testing.T, d *enginetest.Daemon) *underWay {
	u := &underWay{T: t, engine: d, dir: t.TempDir()}
	row := fmt.Sprintf(`{"instance_id":"underway__1","problem_statement":"p","image_name":%q}`+"\n", e2e.OwnImage)
	if err := os.WriteFile(filepath.Join(u.dir, "rows.jsonl"), []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	u.server = stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		if r.Replies() == 0 {
			return stub.Bash("date +%s.%N >> /tmp/began; until [ -e /tmp/go ]; do sleep 0.05; done; cat /tmp/began; touch /tmp/ended")
		}
		return stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat /tmp/began")
	})
	return u
}

// start starts the run, or resumes it.
func (u *underWay) start(args ...string) {
	u.Helper()
	u.cmd = e2e.Batch(u, u.dir, append([]string{
		"run", "--subset", "rows.jsonl", "-m", "openai/stub-1", "-o", "out", "-w", "1", "-q",
		"-c", "environment.timeout=600", "-c", "environment.cwd=/testbed",
	}, args...)...)
	u.cmd.Env = append(u.cmd.Env, "OPENAI_BASE_URL="+u.server.URL, "OPENAI_API_KEY=none-needed", "DOCKER_HOST="+u.engine.Host())
	u.cmd.Stdout, u.cmd.Stderr = &u.said, &u.said
	if u.hidden {
		u.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	}
	if err := u.cmd.Start(); err != nil {
		u.Fatal(err)
	}
}

// killed waits for the run, which must end by a kill.
func (u *underWay) killed(sig syscall.Signal) {
	u.Helper()
	_ = u.cmd.Process.Signal(sig)
	_ = u.cmd.Wait()
	if status, _ := u.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		u.Fatalf("it ended with %v\n%s", u.cmd.ProcessState, u.said.String())
	}
}

// journal returns the data of the journal's records of a type.
func (u *underWay) journal(typ string) (all []json.RawMessage) {
	paths, _ := filepath.Glob(filepath.Join(u.dir, "out", "*", "journal.jsonl"))
	for _, path := range paths {
		records, _, _ := journal.Read(path)
		for _, r := range records {
			if r.Type == typ {
				all = append(all, r.Data)
			}
		}
	}
	return all
}

// await waits for the n-th record of an action, and returns the container.
func (u *underWay) await(n int) (container string) {
	u.Helper()
	for end := time.Now().Add(e2e.Patience); len(u.journal(journal.TypeAction)) < n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			_ = u.cmd.Process.Kill()
			_ = u.cmd.Wait()
			u.Fatalf("no command is run\n%s", u.said.String())
		}
	}
	all := u.journal(journal.TypeContainer)
	var c journal.ContainerData
	if err := json.Unmarshal(all[len(all)-1], &c); err != nil {
		u.Fatal(err)
	}
	return c.Container
}

// in runs a script in the container.
func (u *underWay) in(container, script string) string {
	u.Helper()
	out, err := exec.CommandContext(u.Context(), "docker", "-H", u.engine.Host(), "exec", container, "bash", "-c", script).CombinedOutput()
	if err != nil {
		u.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// finish waits for the run, in which the command must have run once: began is its output.
func (u *underWay) finish(began string) {
	u.Helper()
	if err := u.cmd.Wait(); err != nil {
		u.Fatalf("%v\n%s", err, u.said.String())
	}
	if r := e2e.Record(u.T, u.dir); r.Resumed != 1 || r.Steps != 2 || r.Outcome != vocab.OutcomeSubmitted || len(u.server.Requests()) != 2 {
		u.Errorf("%+v after %d requests", r, len(u.server.Requests()))
	}
	var out journal.OutputData
	if err := json.Unmarshal(u.journal(journal.TypeOutput)[0], &out); err != nil {
		u.Fatal(err)
	}
	if out.ExitCode != 0 || string(out.Kept) != began {
		u.Errorf("the command's exit code is %d and its output %q, want %q", out.ExitCode, out.Kept, began)
	}
	for id, patch := range e2e.Predictions(u.T, filepath.Join(u.dir, "out")) {
		if patch != began || strings.Count(patch, "\n") != 1 {
			u.Errorf("%s: the command ran at %q, want %q", id, patch, began)
		}
	}
}

const beganScript = "until [ -s /tmp/began ]; do sleep 0.05; done; cat /tmp/began"

// A command that was under way when its run was killed continues, and the resumed run
// takes its output.
func TestACommandThatIsUnderWayAtAKillRunsOnce(t *testing.T) {
	t.Parallel()
	d := e2e.OwnEngine(t)
	for name, tt := range map[string]struct{ late, hidden bool }{
		"it ends before the resume": {}, "it ends behind the resume": {late: true}, "the runs cannot see each other": {hidden: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.hidden && os.Getuid() != 0 {
				t.Skip("only root makes pid namespaces")
			}
			u := newUnderWay(t, d)
			u.hidden = tt.hidden
			u.start()
			c := u.await(1)
			began := u.in(c, beganScript)
			u.killed(syscall.SIGKILL)
			if !tt.late {
				u.in(c, "touch /tmp/go; until [ -e /tmp/ended ]; do sleep 0.05; done")
			}
			u.start()
			if tt.late {
				if now := u.await(2); now != c {
					t.Errorf("the resumed run uses container %s, want %s", now, c)
				}
				u.in(c, "touch /tmp/go")
			}
			u.finish(began)
		})
	}
}

// A run that is interrupted ends its commands. When it is killed before it has removed
// the container, the model must not see the result of the ended command.
func TestACommandEndedByAnInterruptIsNotAnObservation(t *testing.T) {
	tier.Rest(t, "attempt/*.go", "attempt/session", "agent/*.go", "internal/box")
	t.Parallel()
	u := newUnderWay(t, e2e.OwnEngine(t))
	u.start("--inject", "engine.remove:2=kill") // the first removes the container that filled the boxinit volume
	u.in(u.await(1), beganScript)
	u.killed(syscall.SIGTERM)
	u.start()
	c := u.await(2)
	began := u.in(c, beganScript)
	u.in(c, "touch /tmp/go")
	u.finish(began)
}
