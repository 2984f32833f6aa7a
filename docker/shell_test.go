package docker_test

import (
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"batch.example/batch/docker"
)

// TestAShellThatIsFreeAgainLosesNoOther leaves several shells whose output is
// held, frees them all, and takes one: the others must still end with the
// container.
func TestAShellThatIsFreeAgainLosesNoOther(t *testing.T) {
	connect(t) // skips without an engine
	testImage(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it closes what was forgotten
	before := openFiles(t)
	e, err := docker.Connect(t.Context(), docker.FromEnv(os.Getenv, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Create(t.Context(), docker.Spec{Image: testImage(t), Deadline: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { run(t, c, "until [ -e /tmp/go ]; do sleep 0.05; done & echo left") })
	}
	all.Wait()
	run(t, c, "touch /tmp/go")
	for deadline := time.Now().Add(time.Minute); len(processes(t, c)) > 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	for range 2 { // at once, since one has an idle shell
		all.Go(func() {
			if r := run(t, c, "sleep 0.5; echo next"); string(r.Output) != "next\n" {
				t.Errorf("output %q", r.Output)
			}
		})
	}
	all.Wait()
	if err := c.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(10 * time.Second); openFiles(t) > before && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if now := openFiles(t); now > before {
		t.Errorf("%d open files, %d before", now, before)
	}
}
