package docker_test

import (
	"errors"
	"strings"
	"testing"

	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// A command that is under way when its runner dies continues, and is not run twice.
func TestACommandContinuesAfterItsRunnerIsKilled(t *testing.T) {
	t.Parallel()
	e := connect(t)
	c := start(t, e, engine.Spec{})
	ran := make(chan error, 1)
	cmd := containers.Command{ID: "s1.1", Script: "echo ran >>/tmp/count; until [ -e /tmp/go ]; do sleep 0.01; done; echo done; exit 3", Timeout: enough}
	go func() {
		_, err := c.Run(t.Context(), cmd)
		ran <- err
	}()
	awaitFile(t, c, "/tmp/count")
	c.Close() // like the end of its process
	if err := <-ran; fault.KindOf(err) != fault.Transient {
		t.Errorf("got a fault of kind %v: %v, want a Transient fault", fault.KindOf(err), err)
	}
	for n := range 3 {
		next, err := e.Attach(t.Context(), c.ID())
		if err != nil {
			t.Fatal(err)
		}
		if err := next.CopyIn(t.Context(), "/tmp/go", 0o644, nil); err != nil {
			t.Fatal(err)
		}
		r := runCommand(t, next, cmd)
		if string(r.Bytes) != "done\n" || r.ExitCode != 3 || r.TimedOut {
			t.Errorf("%d: got %+v, %q; want output %q, exit code 3, timed out false", n, r, r.Bytes, "done\n")
		}
		next.Close()
	}
	next, err := e.Attach(t.Context(), c.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if r := run(t, next, "cat /tmp/count"); string(r.Bytes) != "ran\n" {
		t.Errorf("it ran %q, want output %q", r.Bytes, "ran\n")
	}
}

// The question which part of a long output to keep is asked again of the next runner.
func TestALongOutputIsKeptUntilARunnerReadsIt(t *testing.T) {
	t.Parallel()
	e := connect(t)
	c := start(t, e, engine.Spec{})
	asked := make(chan bool, 1)
	cmd := containers.Command{ID: "long", Script: "printf 'keep '; yes | head -c 100000", Limit: 1000}
	cmd.Longer = func([]byte) bool {
		asked <- true
		<-t.Context().Done() // never answers
		return false
	}
	go func() { _, _ = c.Run(t.Context(), cmd) }()
	<-asked
	next, err := e.Attach(t.Context(), c.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	cmd.Longer = func(begin []byte) bool { return len(begin) == 1000 && strings.HasPrefix(string(begin), "keep y\n") }
	if r := runCommand(t, next, cmd); r.Total != 100_005 || len(r.Bytes) != 100_005 {
		t.Errorf("kept %d of %d; want total 100_005, 100_005 bytes", len(r.Bytes), r.Total)
	}
}

func TestProcessesCannotReadBoxinit(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	r := run(t, c, "for f in fd/0 fd/1 environ mem maps cwd/x; do cat /proc/1/$f /proc/$PPID/$f && echo open; done; ls /proc/1/fd /proc/$PPID/fd; echo x >/proc/1/fd/1")
	if out := string(r.Bytes); strings.Contains(out, "open") || strings.Count(out, "Permission denied") < 9 {
		t.Errorf("a process in the container could open files of boxinit:\n%s", out)
	}
}

// With CAP_SYS_PTRACE a process can read and write the stream, which changes nothing
// but the time it takes.
func TestForgedFramesAreRefused(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for name, script := range map[string]string{
		"garbage to the runner":         "head -c 3000 /dev/urandom >/proc/1/fd/1",
		"garbage to the init":           "head -c 3000 /dev/urandom >/proc/1/fd/0",
		"a large length":                "printf '\\x03\\xff\\xff\\xff' >/proc/1/fd/1; printf '\\x03\\xff\\xff\\xff' >/proc/1/fd/0",
		"a frame that is taken out":     "(timeout 0.3 cat </proc/1/fd/0 >/tmp/frame) & exit 0",
		"a frame that is sent again":    "(timeout 0.5 cat </proc/1/fd/0 >/tmp/frame; cat /tmp/frame /tmp/frame >/proc/1/fd/0) >/dev/null 2>&1 & exit 0",
		"an answer that is sent before": "(timeout 0.3 cat </proc/1/fd/1 >/tmp/frame; cat /tmp/frame >/proc/1/fd/1) >/dev/null 2>&1 & sleep 0.1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, e, engine.Spec{CapAdd: []string{"SYS_PTRACE"}})
			run(t, c, "true")
			rounds := 2
			if name == "a large length" { // the rest of the frame is waited for
				rounds = 1
			}
			for n := range rounds {
				r, err := c.Run(t.Context(), containers.Command{Script: "echo ran >>/tmp/count; " + script, Timeout: enough})
				if err != nil || r.ExitCode != 0 || len(r.Bytes) > 0 {
					t.Fatalf("%d: got %+v, %q, %v; want exit code 0, no bytes, no error", n, r, r.Bytes, err)
				}
				if r := runCommand(t, c, containers.Command{Script: "echo next >>/tmp/next; cat /tmp/next", Timeout: enough}); string(r.Bytes) != strings.Repeat("next\n", n+1) {
					t.Errorf("%d: got %+v, %q; want output %q", n, r, r.Bytes, strings.Repeat("next\n", n+1))
				}
			}
			if r := run(t, c, "cat /tmp/count"); string(r.Bytes) != strings.Repeat("ran\n", rounds) {
				t.Errorf("it ran %q, want output %q", r.Bytes, strings.Repeat("ran\n", rounds))
			}
		})
	}
}

func TestAContainerThatKeepsForgingFramesIsDestroyed(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), engine.Spec{CapAdd: []string{"SYS_PTRACE"}})
	ctx := soon(t)
	_, err := c.Run(ctx, containers.Command{Script: "while echo forged >/proc/1/fd/1; do :; done >/dev/null 2>&1 &"})
	for err == nil {
		_, err = c.Run(ctx, containers.Command{Script: "true"})
	}
	if !errors.Is(err, vocab.ErrDestroyed) {
		t.Errorf("got a fault of kind %v: %v, want error %v", fault.KindOf(err), err, vocab.ErrDestroyed)
	}
}
