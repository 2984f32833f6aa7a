package docker_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
)

// privateEngine starts an engine that the test may kill.
func privateEngine(t *testing.T) (*enginetest.Daemon, *docker.Engine) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts an engine of its own")
	}
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	d := enginetest.Start(t)
	root, err := enginetest.Root(strings.Fields(tools), nil)
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
	d, e := privateEngine(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			c := start(t, e, docker.Spec{Image: "outage:test"})
			d.Kill(sig)
			d.Restart() // before anybody has missed it
			_, err := c.Run(t.Context(), docker.Command{Script: "true"})
			if fault.KindOf(err) != fault.Transient {
				t.Errorf("%v: %v", fault.KindOf(err), err)
			}
			t.Log(err)
		})
	}
}

func TestWhatIsAskedOfAnEngineThatIsAwayIsDoneWhenItIsBack(t *testing.T) {
	d, e := privateEngine(t)
	c := start(t, e, docker.Spec{Image: "outage:test"})
	d.Kill(syscall.SIGKILL)
	if _, err := c.Run(t.Context(), docker.Command{Script: "true"}); err == nil {
		t.Error("a command ran without an engine")
	}
	done := make(chan error, 2)
	go func() {
		_, _, err := e.Image(t.Context(), "outage:test", "")
		done <- err
	}()
	go func() {
		done <- c.Remove(context.Background())
	}()
	d.Restart()
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
