package docker_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

// privateEngine starts an engine that the test may kill.
func privateEngine(t *testing.T, flags ...string) (*enginetest.Daemon, *docker.Engine) {
	t.Helper()
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	d := enginetest.Start(t, flags...)
	root, err := enginetest.Root([]string{"bash", "cat", "sleep"}, nil) // copied for each container
	if err != nil {
		t.Fatal(err)
	}
	d.Import("outage:test", root)
	e, err := docker.Connect(t.Context(), docker.Config{Host: d.Host()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return d, e
}

func TestAContainerThatDiedWithItsEngineIsATransientFault(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	d, e := privateEngine(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			c := start(t, e, engine.Spec{Image: "outage:test"})
			d.Kill(sig)
			d.Restart() // before any call has failed
			_, err := c.Run(t.Context(), containers.Command{Script: "true"})
			if fault.KindOf(err) != fault.Transient {
				t.Errorf("got a fault of kind %v: %v, want a Transient fault", fault.KindOf(err), err)
			}
			t.Log(err)
		})
	}
}

// A command continues while its engine is replaced, and its result is available afterwards.
func TestACommandOutlivesItsEngineWithLiveRestore(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	d, e := privateEngine(t, "--live-restore")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			c := start(t, e, engine.Spec{Image: "outage:test"})
			ran := make(chan error, 1)
			go func() {
				r, err := c.Run(t.Context(), containers.Command{Script: "echo ran >>/count; until [ -e /go ]; do sleep 0.1; done; cat /count"})
				if err == nil && (string(r.Bytes) != "ran\n" || r.ExitCode != 0) {
					err = fmt.Errorf("%+v, %q", r, r.Bytes)
				}
				ran <- err
			}()
			awaitFile(t, c, "/count")
			d.Kill(sig)
			d.Restart()
			if err := c.CopyIn(t.Context(), "/go", 0o644, nil); err != nil {
				t.Error(err)
			}
			if err := <-ran; err != nil {
				t.Error(err)
			}
			if r := run(t, c, "echo next"); string(r.Bytes) != "next\n" {
				t.Errorf("got %+v, want output %q", r, "next\n")
			}
		})
	}
}
