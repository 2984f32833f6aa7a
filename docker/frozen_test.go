package docker_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// An engine that is frozen, like a stopped process or a machine that swaps, carries out
// what was sent to it when it continues, even if the caller has gone.
func TestAFrozenEngineFailsCallsUnderWayAndLeavesNothing(t *testing.T) {
	t.Parallel()
	socket, ok := strings.CutPrefix(connect(t).Host(), "unix://")
	if !ok {
		t.Skip("the engine is not at a socket")
	}
	r := newRelay(t, socket)
	e, err := docker.Connect(t.Context(), docker.Config{Host: "unix://" + r.path, Creates: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var frozen atomic.Bool
	e.Impatient(func(string, string) time.Duration {
		if frozen.Load() {
			return 300 * time.Millisecond
		}
		return time.Minute
	})
	label := map[string]string{"batch.test": rand.Text()}
	spec := engine.Spec{Image: testImage(t), Unattended: 5 * time.Minute, Labels: label}
	old, err := e.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	r.gate.Lock()
	frozen.Store(true)
	var all sync.WaitGroup
	var failed atomic.Int32
	for range 10 {
		all.Go(func() {
			c, err := e.Create(t.Context(), spec)
			if err != nil {
				failed.Add(1)
				if fault.KindOf(err) != fault.Transient {
					t.Errorf("got a fault of kind %v: %v, want a Transient fault", fault.KindOf(err), err)
				}
				return
			}
			if err := c.Remove(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Go(func() {
		if err := old.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	awaitOutage(t, e)
	frozen.Store(false)
	r.gate.Unlock()
	all.Wait()
	if n := failed.Load(); n > 2 {
		t.Errorf("%d creates failed, want no more than were under way", n)
	}
	if n := labeled(t, raw(t), label); n > 0 {
		t.Errorf("%d containers are left", n)
	}
}

// awaitOutage waits until e has noticed that its engine does not answer.
func awaitOutage(t *testing.T, e *docker.Engine) {
	t.Helper()
	for known := false; !known; time.Sleep(time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		known = e.Ready(ctx) != nil
		cancel()
	}
}
