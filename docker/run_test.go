package docker_test

import (
	"testing"
	"time"

	"batch.example/batch/docker/containers"
	conformance "batch.example/batch/sandbox/engine/enginetest"
	"batch.example/batch/vocab"
)

// enough is a time limit for commands that end by themselves, however busy the machine is.
const enough = 2 * time.Minute

// run runs script and fails the test on a fault.
func run(t testing.TB, c *containers.Container, script string) vocab.Output {
	t.Helper()
	return runCommand(t, c, containers.Command{Script: script, Timeout: enough})
}

func runCommand(t testing.TB, c *containers.Container, cmd containers.Command) vocab.Output {
	t.Helper()
	r, err := c.Run(t.Context(), cmd)
	if err != nil {
		t.Fatalf("running %.60q: %v", cmd.Script, err)
	}
	return r
}

// awaitFile waits until a command has made a file, but not for ever.
func awaitFile(t testing.TB, c *containers.Container, name string) {
	for end := time.Now().Add(enough); t.Context().Err() == nil && time.Now().Before(end); {
		if _, err := c.CopyOut(t.Context(), name); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	if t.Context().Err() == nil {
		t.Errorf("no %s after %v", name, enough)
	}
}

func processes(t testing.TB, c *containers.Container) []string { return conformance.Processes(t, c) }
