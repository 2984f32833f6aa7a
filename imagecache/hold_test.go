package imagecache_test

import (
	"os"
	"path/filepath"
	"strings"
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

// A thousand agents on one image need one open file for it, which the last one closes.
func TestHoldsOfOneImageShareAFile(t *testing.T) {
	dir := t.TempDir()
	opened := func() (n int) {
		files, err := filepath.Glob("/proc/self/fd/*")
		if len(files) == 0 {
			t.Skip("needs /proc:", err)
		}
		for _, f := range files {
			if path, _ := os.Readlink(f); strings.HasPrefix(path, dir) {
				n++
			}
		}
		return n
	}
	c := cache(t, newEngine(10), dir, imagecache.Options{})
	var ends []func()
	for range 1000 {
		ends = append(ends, acquire(t, c, "a"))
	}
	if n := opened(); n != 1 {
		t.Errorf("a thousand holds have %d files open, want 1", n)
	}
	other := cache(t, newEngine(10), dir, imagecache.Options{}) // as another process: it does not share the lock
	defer acquire(t, other, "a")()
	for i, end := range ends {
		if want := 2; i == len(ends)-1 && opened() != want {
			t.Errorf("before the last hold ends: %d files, want %d", opened(), want)
		}
		end()
	}
	if n := opened(); n != 1 {
		t.Errorf("when all but the other process's have ended: %d files, want 1", n)
	}
}
