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
