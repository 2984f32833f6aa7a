package docker_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// Process 1 ignores signals and the runtime blocks some while it forks; a command inherits neither.
func TestCommandsStartWithNoSignalIgnoredOrBlocked(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	const script = "while read -r name value; do case $name in SigBlk: | SigIgn:) echo $name $value;; esac; done < <(cat /proc/self/status)"
	const want = "SigBlk: 0000000000000000\nSigIgn: 0000000000000000\n"
	for n := range 4 {
		r := runCommand(t, c, containers.Command{Script: script, Ahead: true, Fresh: n%2 == 1})
		if string(r.Bytes) != want {
			t.Errorf("got %q, want %q", r.Bytes, want)
		}
	}
}

// A container that is changed from outside through the engine did not do that itself, even
// if it killed its processes before, or none runs in it.
func TestAContainerStoppedFromOutsideIsATransientFault(t *testing.T) {
	t.Parallel()
	e := connect(t)
	api := raw(t)
	for name, end := range map[string]func(ctx context.Context, id string) error{
		"killed":  func(ctx context.Context, id string) error { return api.ContainerKill(ctx, id, "KILL") },
		"stopped": func(ctx context.Context, id string) error { return api.ContainerStop(ctx, id, container.StopOptions{}) },
		"removed": func(ctx context.Context, id string) error {
			return api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, e, engine.Spec{Memory: 64 << 20})
			run(t, c, "kill -9 -1")
			run(t, c, "x=x; while :; do x=$x$x; done")
			if err := end(t.Context(), c.ID()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				r, err := c.Run(t.Context(), containers.Command{Script: "true"})
				if r.Restarted && name != "removed" && forgotten(t, api, c.ID()) {
					t.Skip("the engine, which keeps 256 events, has forgotten who ended the container: too much happens on it")
				}
				if fault.KindOf(err) != fault.Transient || errors.Is(err, vocab.ErrDestroyed) || r.Restarted {
					t.Errorf("got %+v, %v (%v); want a Transient fault, an error other than %v, restarted false",
						r, err, fault.KindOf(err), vocab.ErrDestroyed)
				}
			}
		})
	}
}

// forgotten reports whether the engine does not know any more that a client ended a container.
func forgotten(t *testing.T, api *client.Client, id string) bool {
	t.Helper()
	f := filters.NewArgs(filters.Arg("container", id), filters.Arg("event", "kill"))
	now := strconv.FormatInt(time.Now().Unix()+1, 10)
	messages, errs := api.Events(t.Context(), events.ListOptions{Since: "1", Until: now, Filters: f})
	select {
	case <-messages:
		return false
	case <-errs:
		return true
	}
}

// An engine that shuts down kills its containers first. Another call may notice the loss of the
// engine when the container is known to be killed already.
func TestAContainerKilledBeforeItsEngineIsLostIsAnOutage(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	s := newEngineStub(t)
	s.drops = true
	lost := failing{"list": &net.OpError{Op: "dial", Net: "unix", Err: syscall.ECONNREFUSED}}
	e := s.connect(t, time.Minute, func(c *docker.Config) { c.Before = lost.before })
	c, err := e.Create(t.Context(), engine.Spec{Image: stubImage})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var looks atomic.Int64
	killed := answer(http.StatusOK, map[string]any{"Id": stubBox, "State": map[string]any{"ExitCode": 137}})
	s.say("GET /containers/*/json", func(w http.ResponseWriter, r *http.Request) {
		if looks.Add(1) == 2 { // the first said that it was killed
			_, _ = e.Owned(t.Context())
		}
		killed(w, r)
	})
	if _, err := c.Run(t.Context(), containers.Command{Script: "true"}); !errors.Is(err, engine.ErrOutage) {
		t.Errorf("got %v, want %v", err, engine.ErrOutage)
	}
	if looks.Load() < 2 {
		t.Errorf("the container was looked at %d times, want at least 2", looks.Load())
	}
}

// An engine that has killed a container may fail since it has not ended yet.
func TestAContainerThatEndsSlowlyIsRestarted(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	s := newEngineStub(t)
	s.ends, s.result = true, wire.Result{TimedOut: true, Alive: true}
	var tries atomic.Int64
	s.say("POST /containers/*/stop", func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) < 3 {
			said := "cannot stop container: b0b0: PID 5 is zombie and can not be killed. Use the --init option when creating containers"
			answer(http.StatusInternalServerError, map[string]string{"message": said})(w, r)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	c, err := s.connect(t, time.Minute).Create(t.Context(), engine.Spec{Image: stubImage})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Run(t.Context(), containers.Command{Script: "true", Timeout: time.Second})
	if err != nil || !r.TimedOut || !r.Restarted {
		t.Errorf("%+v, %v; want a command that reached its time limit, in a container that was restarted", r, err)
	}
}

// Memory that no process holds is not freed by ending processes.
func TestAContainerThatRanOutOfMemoryIsRestarted(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{Memory: 48 << 20, ShmSize: 1 << 30})
	run(t, c, "echo kept >/tmp/file")
	for range 2 {
		if r := run(t, c, "x=x; while :; do x=$x$x; done"); r.ExitCode != 137 || !r.OOM || r.Restarted {
			t.Errorf("got %+v, want exit code 137, OOM true, restarted false", r)
		}
		r := run(t, c, "cat /dev/zero >/dev/shm/full; sleep 0.2; echo on")
		for n := 0; !r.Restarted && n < 50; n++ {
			r = run(t, c, "echo $BASHPID")
		}
		if r.ExitCode != 137 || !r.OOM || !r.Restarted {
			t.Errorf("got %+v, %q; want exit code 137, OOM true, restarted true", r, r.Bytes)
		}
		if r := run(t, c, "cat /tmp/file"); string(r.Bytes) != "kept\n" || r.Restarted {
			t.Errorf("afterwards: %+v, %q; want output %q, restarted false", r, r.Bytes, "kept\n")
		}
	}
}

// An interpreter that was never in the image is the image's fault, and other commands run.
func TestAMissingInterpreterIsAFaultOfTheImage(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	for range 2 {
		_, err := c.Run(t.Context(), containers.Command{Args: []string{"nosuch", "-c"}, Script: "x"})
		if errors.Is(err, vocab.ErrDestroyed) || fault.KindOf(err) != fault.Instance || !strings.Contains(fault.HintOf(err), "nosuch") {
			t.Errorf("got a fault of kind %v: %v; hint %q; want an error other than %v, an Instance fault, %q in its hint",
				fault.KindOf(err), err, fault.HintOf(err), vocab.ErrDestroyed, "nosuch")
		}
	}
	run(t, c, "true")
}

// Processes that a command leaves may use up the whole pids limit.
func TestAContainerWithoutRoomForAProcessIsRestarted(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{PidsLimit: 60})
	// Bash tries a failed fork again for 15 seconds; the test does not wait for it.
	run(t, c, "echo kept >/tmp/file; (for i in {1..90}; do sleep 100 & done) >/dev/null 2>/tmp/full & until [ -s /tmp/full ]; do :; done; kill -9 $$")
	if r := run(t, c, "cat /tmp/file"); string(r.Bytes) != "kept\n" || !r.Restarted {
		t.Errorf("got %+v, %q; want output %q, restarted true", r, r.Bytes, "kept\n")
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
