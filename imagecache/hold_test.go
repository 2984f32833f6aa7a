package imagecache_test

import (
	"testing"
	"testing/synctest"

	"batch.example/batch/imagecache"
)

// An image held for later is not evicted for another one, which waits for its release.
func TestAHeldImageStaysUntilItIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10)
		c := cache(t, e, t.TempDir(), imagecache.Options{Budget: 15})
		end := acquire(t, c, "a")
		release, err := c.Hold(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		end()
		done := make(chan struct{})
		go func() {
			defer close(done)
			acquire(t, c, "b")()
		}()
		synctest.Wait()
		if got := refs(e.has()); got != "a" {
			t.Errorf("while a is held: %s, want a alone", got)
		}
		acquire(t, c, "a")() // the holder of an image does not wait for itself
		release()
		release()
		<-done
		if got := refs(e.has()); got != "b" {
			t.Errorf("then: %s, want b", got)
		}
	})
}

// Without space for a container, an instance that holds its image fails instead of waiting
// for its own hold.
func TestAHolderDoesNotWaitForItself(t *testing.T) {
	e := newEngine(10 << 20)
	e.disk = 100 << 20
	c := cache(t, e, t.TempDir(), imagecache.Options{})
	end := acquire(t, c, "a")
	release, err := c.Hold(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	end()
	e.disk = 20 << 20
	if _, _, err := c.Acquire(t.Context(), "x", "a", nil); err == nil {
		t.Error("acquired on a full disk, want a Host fault")
	}
	release()
}
