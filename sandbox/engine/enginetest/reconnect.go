package enginetest

import (
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
)

// The question which part of a long output to keep is asked again of the next runner.
func (e *suite) aLongOutputIsKeptUntilARunnerReadsIt(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	asked := make(chan bool, 1)
	cmd := box.Command{ID: "long", Script: "printf 'keep '; yes | head -c 100000", Limit: 1000}
	cmd.Longer = func([]byte) bool {
		asked <- true
		<-t.Context().Done() // never answers
		return false
	}
	go func() { _, _ = c.Run(t.Context(), cmd) }()
	<-asked
	next, err := e.engine.Attach(t.Context(), c.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	cmd.Longer = func(begin []byte) bool { return len(begin) == 1000 && strings.HasPrefix(string(begin), "keep y\n") }
	if r := Command(t, next, cmd); r.Total != 100_005 || len(r.Bytes) != 100_005 {
		t.Errorf("kept %d of %d; want total 100_005, 100_005 bytes", len(r.Bytes), r.Total)
	}
}

func (e *suite) processesCannotReadBoxinit(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	r := Script(t, c, "for f in fd/0 fd/1 environ mem maps cwd/x; do cat /proc/1/$f /proc/$PPID/$f && echo open; done; ls /proc/1/fd /proc/$PPID/fd; echo x >/proc/1/fd/1")
	if out := string(r.Bytes); strings.Contains(out, "open") || strings.Count(out, "Permission denied") < 9 {
		t.Errorf("a process in the container could open files of boxinit:\n%s", out)
	}
}

func (e *suite) anUnattendedContainerEndsAfterItsTimeLimit(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{Unattended: 10 * time.Second})
	Script(t, c, "sleep 15") // the container is in use
	ran := make(chan error, 1)
	go func() {
		_, err := c.Run(t.Context(), box.Command{Script: "echo >/tmp/began; sleep 600"})
		ran <- err
	}()
	AwaitFile(t, c, "/tmp/began")
	c.Close() // like the end of its process
	if err := <-ran; fault.KindOf(err) != fault.Transient {
		t.Errorf("got a fault of kind %v: %v, want a Transient fault", fault.KindOf(err), err)
	}
	for end := time.Now().Add(Enough); e.find(t, c.ID()).State == engine.StateRunning; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the unattended container did not end")
		}
	}
	if _, err := e.engine.Attach(t.Context(), c.ID()); fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "did not contact it") {
		t.Errorf("got a fault of kind %v: %v, want a Transient fault with %q", fault.KindOf(err), err, "did not contact it")
	}
}

// As with docker exec, processes that a command has started survive when its shell is killed.
func (e *suite) aBackgroundProcessSurvivesTheKilledShell(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	r := Script(t, c, "sleep 7002 & (setsid nohup sleep 7004 &); kill -9 $$; sleep 7005")
	if r.ExitCode != 137 || r.TimedOut {
		t.Fatalf("got %+v, want exit code 137, timed out false", r)
	}
	for len(Processes(t, c)) < 2 { // the second one may not have called exec yet
		if t.Context().Err() != nil {
			t.Fatal("a background process ended")
		}
	}
	if left := Processes(t, c); len(left) != 2 {
		t.Errorf("running: %q, want 2 processes", left)
	}
}
