package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
)

const outageImage = "batch-outage:test"

// outageScript waits in its second command until the engine was lost. In a container
// that survived the test ends the wait; a new one is made of an image that has /calm.
const outageScript = `"*":
  - bash: "echo one"
  - bash: "test -e /calm || { echo seen >> /tmp/seen; until test -e /tmp/go; do sleep 0.1; done; }"
  - bash: "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo done; test ! -e /tmp/seen || cat /tmp/seen"
`

// A dockerd that ends in mid-run, by SIGTERM or SIGKILL, costs no instance its
// result, whether the containers survive it or not.
func TestARunSurvivesARestartOfItsEngine(t *testing.T) {
	tier.Rest(t, "sandbox/*.go", "docker/*.go", "docker/internal", "internal/box")
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	t.Parallel()
	programs := []string{"bash", "cat", "mkdir", "sleep", "touch"}
	before, err := enginetest.Root(programs, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err := enginetest.Root(programs, map[string]string{"calm": ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, live := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v live-restore %v", sig, live), func(t *testing.T) {
				d := enginetest.Start(t, fmt.Sprintf("--live-restore=%v", live))
				d.Import(outageImage, before)
				run := startOutage(t, d)
				run.awaitContainers(4)
				d.Import(outageImage, after)
				d.Kill(sig)
				run.awaitLog("does not answer")
				d.Restart()
				want := "done\n"
				if live {
					run.unblock()
					want += "seen\n"
				}
				run.awaitEnd(want)
				if n := run.containers(); n != 0 {
					t.Errorf("%d containers left behind", n)
				}
			})
		}
	}
}

// outage is a run whose engine is stopped.
type outage struct {
	*testing.T
	dir    string
	engine *docker.Engine
	done   chan error
	mu     sync.Mutex
	said   bytes.Buffer // guarded by mu
}

func (o *outage) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.Write(p)
}

func (o *outage) output() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

// startOutage runs four instances at once and a fifth after them.
func startOutage(t *testing.T, d *enginetest.Daemon) *outage {
	t.Helper()
	o := &outage{T: t, dir: t.TempDir(), done: make(chan error, 1)}
	var rows strings.Builder
	for i := range 5 {
		fmt.Fprintf(&rows, `{"instance_id":"outage__%d","problem_statement":"p","image_name":%q}`+"\n", i, outageImage)
	}
	for name, text := range map[string]string{"rows.jsonl": rows.String(), "script.yaml": outageScript} {
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if o.engine, err = docker.Connect(t.Context(), docker.Config{Host: d.Host()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := e2e.BatchContext(t, ctx, o.dir, "run", "--subset", "rows.jsonl", "-m", "scripted/script.yaml", "-o", "out", "-w", "4",
		"--retry", "transient=0", "-c", "environment.timeout=900", "-c", "environment.cwd=/testbed")
	cmd.Env = append(cmd.Env, "DOCKER_HOST="+d.Host())
	cmd.Stdout, cmd.Stderr = o, o
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { o.done <- cmd.Wait(); close(o.done) }()
	t.Cleanup(func() {
		cancel()
		<-o.done
		_ = o.engine.Close()
	})
	return o
}

// poll waits until ready is true, with a generous time limit.
func (o *outage) poll(what string, ready func() bool) {
	o.Helper()
	for end := time.Now().Add(e2e.Patience); !ready(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			o.Fatalf("waited without success for %s; the run said:\n%s", what, o.output())
		}
	}
}

// awaitContainers waits until n containers are in the command that sleeps.
func (o *outage) awaitContainers(n int) {
	o.Helper()
	o.poll("the commands", func() bool {
		owned, err := o.engine.Owned(o.Context())
		if err != nil || len(owned) != n {
			return false
		}
		for _, s := range owned {
			if o.exec(s.ID, "test -e /tmp/seen") != nil {
				return false
			}
		}
		return true
	})
}

// exec runs a script beside the run's own connection to the container's init.
func (o *outage) exec(id, script string) error {
	return exec.CommandContext(o.Context(), "docker", "-H", o.engine.Host(), "exec", id, "bash", "-c", script).Run()
}

func (o *outage) awaitLog(text string) {
	o.Helper()
	o.poll("the log", func() bool { return strings.Contains(o.output(), text) })
}

// unblock ends the commands that survived their engine.
func (o *outage) unblock() {
	o.Helper()
	owned, err := o.engine.Owned(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	for _, s := range owned {
		if err := o.exec(s.ID, "touch /tmp/go"); err != nil {
			o.Error(err)
		}
	}
}

// awaitEnd waits for the run, which must give every instance its result: want for the
// instances with a command under way. That command must have run once.
func (o *outage) awaitEnd(want string) {
	o.Helper()
	select {
	case err := <-o.done:
		if err != nil {
			o.Errorf("%v\n%s", err, o.output())
		}
	case <-time.After(e2e.Patience):
		o.Fatalf("the run did not end within %v:\n%s", e2e.Patience, o.output())
	}
	if p := e2e.Predictions(o, filepath.Join(o.dir, "out")); len(p) != 5 || p["outage__0"] != want || p["outage__4"] != "done\n" {
		o.Errorf("predictions %q, want 5 predictions, outage__0 %v, outage__4 %q\n%s", p, want, "done\n", o.output())
	}
	for _, text := range []string{"does not answer", "answers again"} {
		if n := strings.Count(o.output(), text); n != 1 {
			o.Errorf("%q is logged %d times, want 1:\n%s", text, n, o.output())
		}
	}
}

func (o *outage) containers() int {
	o.Helper()
	owned, err := o.engine.Owned(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	return len(owned)
}
