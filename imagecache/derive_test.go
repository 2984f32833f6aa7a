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

// makes returns a function that makes the image of that name and counts the calls.
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

func TestADerivedImageIsMadeOnce(t *testing.T) {
	e, dir, count := newEngine(10), t.TempDir(), 0
	one, other := cache(t, e, dir, imagecache.Options{}), cache(t, e, dir, imagecache.Options{}) // as in two processes
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
				t.Errorf("got %+v, %v; want ID %v, no error", img, err, id(scrubbed.Ref))
				return
			}
			release()
		})
	}
	all.Wait()
	if count != 1 {
		t.Errorf("made %d times, want count 1", count)
	}
	if _, release, err := other.Derive(t.Context(), scrubbed, nil); err != nil || release == nil {
		t.Errorf("the derived image is not found again: %v", err)
	} else {
		release()
	}
	entries, err := ledger(t, dir).Entries()
	if want := []string{"a", scrubbed.Ref}; err != nil || !slices.Equal(named(entries), want) || entries[1].Of != "a" || entries[1].OfID != id("a") {
		t.Errorf("got %+v, %v; want entries %v, of %q, of ID %v, no error", entries, err, want, "a", id("a"))
	}
}

func TestAMissingOrFailedBuildGivesNoDerivedImage(t *testing.T) {
	e, failed := newEngine(10), errors.New("it failed")
	c := cache(t, e, t.TempDir(), imagecache.Options{})
	defer acquire(t, c, "a")()
	for _, make := range []func(context.Context) (imagecache.Image, error){
		nil,
		func(context.Context) (imagecache.Image, error) { return imagecache.Image{}, nil },
		func(context.Context) (imagecache.Image, error) { return imagecache.Image{}, failed },
	} {
		if _, release, err := c.Derive(t.Context(), scrubbed, make); release != nil || err != nil && !errors.Is(err, failed) {
			t.Errorf("got %v, want release nil, no error, or error %v", err, failed)
		}
	}
}

func TestADerivedImageIsEvictedBeforeItsSource(t *testing.T) {
	for name, keep := range map[string]int64{"alone": 10, "and with it": 0} {
		t.Run(name, func(t *testing.T) {
			e, count := newEngine(10), 0
			c := cache(t, e, t.TempDir(), imagecache.Options{})
			release := acquire(t, c, "a")
			_, releaseDerived, err := c.Derive(t.Context(), scrubbed, e.makes(scrubbed.Ref, &count))
			if err != nil {
				t.Fatal(err)
			}
			if gone, kept, err := c.Evict(t.Context(), 0, false); len(gone) > 0 || len(kept) != 2 || err != nil {
				t.Errorf("in use: %q, %+v, %v; want no gone, 2 kept, no error", named(gone), kept, err)
			}
			releaseDerived()
			release()
			for _, dry := range []bool{true, false} {
				gone, _, err := c.Evict(t.Context(), keep, dry)
				if want := []string{scrubbed.Ref, "a"}[:2-keep/10]; err != nil || !slices.Equal(named(gone), want) {
					t.Errorf("%q, want %q; %v", named(gone), want, err)
				}
			}
			if e.has()["a"] != (keep > 0) || e.has()[scrubbed.Ref] {
				t.Errorf("got the images %v", e.has())
			}
		})
	}
}

func TestADerivedImageIsEvictedWhenItsSourceIsGone(t *testing.T) {
	e, count, dir := newEngine(10), 0, t.TempDir()
	c := cache(t, e, dir, imagecache.Options{})
	release := acquire(t, c, "a")
	_, releaseDerived, err := c.Derive(t.Context(), scrubbed, e.makes(scrubbed.Ref, &count))
	if err != nil {
		t.Fatal(err)
	}
	releaseDerived()
	release()
	if err := e.Remove(t.Context(), "a"); err != nil { // as if by the user
		t.Fatal(err)
	}
	c.Prefetch(t.Context()) // as at the start of a run
	entries, err := ledger(t, dir).Entries()
	if e.has()[scrubbed.Ref] || err != nil || slices.Contains(named(entries), scrubbed.Ref) {
		t.Errorf("got images %v, entries %q, error %v; want the derived image gone", e.has(), named(entries), err)
	}
}

func TestADerivedImageBeyondTheBudgetIsRemoved(t *testing.T) {
	e, count := newEngine(10), 0
	e.layers[scrubbed.Ref] = []imagecache.Layer{{ID: "layer:a", Size: 10}, {ID: "more", Size: 30}}
	c := cache(t, e, t.TempDir(), imagecache.Options{Budget: 35})
	defer acquire(t, c, "a")()
	_, release, err := c.Derive(t.Context(), scrubbed, e.makes(scrubbed.Ref, &count))
	if release != nil || err != nil || count != 1 || e.has()[scrubbed.Ref] || !e.has()["a"] {
		t.Errorf("got error %v, made %d times, images %v; want the derived image removed and its source kept", err, count, e.has())
	}
}

func TestNotesAreReadByTheNextRun(t *testing.T) {
	dir := t.TempDir()
	c := cache(t, newEngine(1), dir, imagecache.Options{})
	if err := c.Remember("key", imagecache.Note{Clean: true, Seconds: 2}); err != nil {
		t.Fatal(err)
	}
	next := cache(t, newEngine(1), dir, imagecache.Options{})
	if n, ok := next.Note("key"); !ok || !n.Clean || n.Seconds != 2 {
		t.Errorf("got %+v, known %t; want known true, clean true, seconds 2", n, ok)
	}
	if n, ok := next.Note("other key"); ok {
		t.Errorf("got %+v, want nothing known", n)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "notes", "*"))
	if len(files) != 1 {
		t.Fatalf("got %q, want 1 file", files)
	}
	for _, damaged := range []string{"", "{", `{"clean":true}`, "\x00"} {
		if err := os.WriteFile(files[0], []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, ok := next.Note("key"); ok {
			t.Errorf("%q is read as %+v; want nothing read", damaged, n)
		}
	}
}
