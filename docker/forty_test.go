package docker_test

import (
	"crypto/rand"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"batch.example/batch/docker/containers"
	"batch.example/batch/sandbox/engine"
)

// TestFortyConcurrentContainersLeaveNothing runs 40 containers at the same time, each with a
// command that leaves a server behind, one that is killed, and one that ends normally,
// and compares the counts before and after.
func TestFortyConcurrentContainersLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("40 containers: not with -short")
	}
	if err := open(t).Close(); err != nil { // the counts below are taken without an engine
		t.Fatal(err)
	}
	api, label := raw(t), map[string]string{"batch.test": rand.Text()}
	testImage(t)
	count := func() int { return labeled(t, api, label) }
	boxes, goroutines, files := count(), runtime.NumGoroutine(), openFiles(t)
	e := open(t)
	var all, ready sync.WaitGroup
	ready.Add(40)
	for range 40 {
		all.Go(func() {
			c, err := e.Create(t.Context(), engine.Spec{
				Image: testImage(t), Unattended: 10 * time.Minute, Labels: label,
			})
			ready.Done()
			if err != nil {
				t.Error(err)
				return
			}
			ready.Wait() // all 40 are running
			if err := errors.Join(busy(t, c), c.Remove(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	ready.Wait()
	if n := count(); n > 40 {
		t.Errorf("got %d containers at once, want at most 40", n)
	}
	all.Wait()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	_ = api.Close()
	deadline := time.Now().Add(enough)
	for (runtime.NumGoroutine() > goroutines || openFiles(t) > files) && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond) // closed connections end a little later
	}
	t.Logf("before: %d containers, %d goroutines, %d files; after: %d, %d, %d",
		boxes, goroutines, files, count(), runtime.NumGoroutine(), openFiles(t))
	_ = api.Close()
	if n := count(); n != boxes {
		t.Errorf("%d containers are left, want 0", n)
	}
	if g := runtime.NumGoroutine(); g > goroutines+2 { // the count's own connection
		t.Errorf("%d goroutines are left, want %d as before", g, goroutines)
	}
	if f := openFiles(t); f > files+1 {
		t.Errorf("got %d open files, %d before; want f at most %v", f, files, files+1)
	}
}

func busy(t *testing.T, c *containers.Container) error {
	for _, cmd := range []containers.Command{
		{Script: "sleep 600 & echo server", Timeout: 5 * time.Minute},
		{Script: "sleep 600", Timeout: 100 * time.Millisecond},
		{Script: "echo next", Timeout: 5 * time.Minute},
	} {
		r, err := c.Run(t.Context(), cmd)
		if err != nil {
			return err
		}
		if killed := cmd.Timeout < time.Second; r.TimedOut != killed || !killed && r.ExitCode != 0 {
			t.Errorf("%q: code %d, timed out %v, output %q", cmd.Script, r.ExitCode, r.TimedOut, r.Bytes)
		}
	}
	return nil
}
