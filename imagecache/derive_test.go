package imagecache_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"batch.example/batch/imagecache"
)

var scrubbed = imagecache.Derived{Ref: "scrubbed/a", Of: "a", OfID: id("a")}

// makes returns a function that makes the image of that name, and counts.
func (e *engine) makes(ref string, count *int) func(context.Context) (imagecache.Image, error) {
	return func(context.Context) (imagecache.Image, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		*count++
		e.here[ref] = true
		return e.image(ref), nil
	}
}

func named(entries []imagecache.Entry) []string {
	var list []string
	for _, e := range entries {
		list = append(list, e.Ref)
	}
	return list
}

func TestADerivedImageIsMadeOnceByWhoeverNeedsIt(t *testing.T) {
	e, dir, count := newEngine(10), t.TempDir(), 0
	one, other := cache(t, e, dir, imagecache.Options{}), cache(t, e, dir, imagecache.Options{}) // of two processes
	defer acquire(t, one, "a")()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			c := one
			if i%2 == 1 {
				c = other
			}
			img, release, err := c.Derive(t.Context(), scrubbed, e.makes(scrubbed.Ref, &count))
			if err != nil || img.ID != id(scrubbed.Ref) {
				t.Errorf("%+v, %v", img, err)
				return
			}
			release()
		})
	}
	all.Wait()
	if count != 1 {
		t.Errorf("made %d times", count)
	}
	if _, release, err := other.Derive(t.Context(), scrubbed, nil); err != nil || release == nil {
		t.Errorf("it is not found again: %v", err)
	} else {
		release()
	}
	entries, err := ledger(t, dir).Entries()
	if want := []string{"a", scrubbed.Ref}; err != nil || !slices.Equal(named(entries), want) || entries[1].Of != "a" || entries[1].OfID != id("a") {
		t.Errorf("%+v, %v", entries, err)
	}
}

func TestThereIsNoDerivedImageWhereNoneIsMade(t *testing.T) {
	e, failed := newEngine(10), errors.New("it failed")
	c := cache(t, e, t.TempDir(), imagecache.Options{})
	defer acquire(t, c, "a")()
	for _, make := range []func(context.Context) (imagecache.Image, error){
		nil,
		func(context.Context) (imagecache.Image, error) { return imagecache.Image{}, nil },
		func(context.Context) (imagecache.Image, error) { return imagecache.Image{}, failed },
	} {
		if _, release, err := c.Derive(t.Context(), scrubbed, make); release != nil || err != nil && !errors.Is(err, failed) {
			t.Errorf("%v", err)
		}
	}
}

func TestADerivedImageIsEvictedBeforeItsOwn(t *testing.T) {
	for name, keep := range map[string]int64{"alone": 10, "and with it": 0} {
		t.Run(name, func(t *testing.T) {
			e, count := newEngine(10), 0
			c := cache(t, e, t.TempDir(), imagecache.Options{})
			release := acquire(t, c, "a")
			_, letGo, err := c.Derive(t.Context(), scrubbed, e.makes(scrubbed.Ref, &count))
			if err != nil {
				t.Fatal(err)
			}
			if gone, kept, err := c.Evict(t.Context(), 0, false); len(gone) > 0 || len(kept) != 2 || err != nil {
				t.Errorf("in use: %q, %+v, %v", named(gone), kept, err)
			}
			letGo()
			release()
			for _, dry := range []bool{true, false} {
				gone, _, err := c.Evict(t.Context(), keep, dry)
				if want := []string{scrubbed.Ref, "a"}[:2-keep/10]; err != nil || !slices.Equal(named(gone), want) {
					t.Errorf("%q, want %q; %v", named(gone), want, err)
				}
			}
			if e.has()["a"] != (keep > 0) || e.has()[scrubbed.Ref] {
				t.Errorf("%v", e.has())
			}
		})
	}
}

func TestADerivedImageGoesWhenItsOwnIsGone(t *testing.T) {
	e, count, dir := newEngine(10), 0, t.TempDir()
	c := cache(t, e, dir, imagecache.Options{})
	release := acquire(t, c, "a")
	_, letGo, err := c.Derive(t.Context(), scrubbed, e.makes(scrubbed.Ref, &count))
	if err != nil {
		t.Fatal(err)
	}
	letGo()
	release()
	if err := e.Remove(t.Context(), "a"); err != nil { // by the user
		t.Fatal(err)
	}
	c.Prefetch(t.Context()) // as a run begins
	entries, err := ledger(t, dir).Entries()
	if e.has()[scrubbed.Ref] || err != nil || slices.Contains(named(entries), scrubbed.Ref) {
		t.Errorf("%v; %q, %v", e.has(), named(entries), err)
	}
}

func TestADerivedImageThatTheBudgetHasNoRoomForGoesAgain(t *testing.T) {
	e, count := newEngine(10), 0
	e.layers[scrubbed.Ref] = []imagecache.Layer{{ID: "layer:a", Size: 10}, {ID: "more", Size: 30}}
	c := cache(t, e, t.TempDir(), imagecache.Options{Budget: 35})
	defer acquire(t, c, "a")()
	_, release, err := c.Derive(t.Context(), scrubbed, e.makes(scrubbed.Ref, &count))
	if release != nil || err != nil || count != 1 || e.has()[scrubbed.Ref] || !e.has()["a"] {
		t.Errorf("%v, made %d times, %v", err, count, e.has())
	}
}

func TestWhatIsNotedIsKnownToTheNextRun(t *testing.T) {
	dir := t.TempDir()
	c := cache(t, newEngine(1), dir, imagecache.Options{})
	if err := c.Remember("key", imagecache.Note{Clean: true, Seconds: 2}); err != nil {
		t.Fatal(err)
	}
	next := cache(t, newEngine(1), dir, imagecache.Options{})
	if n, ok := next.Note("key"); !ok || !n.Clean || n.Seconds != 2 {
		t.Errorf("%+v, %t", n, ok)
	}
	if n, ok := next.Note("other key"); ok {
		t.Errorf("%+v", n)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "notes", "*"))
	if len(files) != 1 {
		t.Fatalf("%q", files)
	}
	for _, damaged := range []string{"", "{", `{"clean":true}`, "\x00"} {
		if err := os.WriteFile(files[0], []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, ok := next.Note("key"); ok {
			t.Errorf("%q is read as %+v", damaged, n)
		}
	}
}
