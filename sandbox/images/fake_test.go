package images_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"syscall"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// engine is an engine in memory with a registry that has every image.
type engine struct {
	mu     sync.Mutex
	layers map[string][]images.Layer // of images in the registry; others have one layer of size
	size   int64                     // of an image that is not in layers
	here   map[string]bool
	used   map[string]bool // refs that containers use
	stuck  map[string]bool // refs that cannot be removed
	disk   int64           // 0: unknown
	pulls  []string
	gone   []string
}

func newEngine(size int64) *engine {
	return &engine{
		size: size, layers: map[string][]images.Layer{}, here: map[string]bool{}, used: map[string]bool{},
		stuck: map[string]bool{},
	}
}

func (e *engine) startContainer(ref string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used[ref] = true
}

func (e *engine) removeContainer(ref string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.used, ref)
}

func id(ref string) string { return "id:" + ref }

func (e *engine) of(ref string) []images.Layer {
	if l := e.layers[ref]; l != nil {
		return l
	}
	return []images.Layer{{ID: "layer:" + ref, Size: e.size}}
}

// taken is the disk space of the images; shared layers count once.
func (e *engine) taken() int64 {
	seen, sum := map[string]bool{}, int64(0)
	for ref := range e.here {
		for _, l := range e.of(ref) {
			if !seen[l.ID] {
				sum += l.Size
			}
			seen[l.ID] = true
		}
	}
	return sum
}

func (e *engine) image(ref string) images.Image {
	img := images.Image{Image: vocab.Image{ID: id(ref), Digest: "digest:" + ref}}
	for _, l := range e.of(ref) {
		img.Size += l.Size
	}
	return img
}

func (e *engine) Image(_ context.Context, ref string) (images.Image, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.image(ref), e.here[ref], nil
}

func (e *engine) Pull(_ context.Context, ref string, _ func(images.Progress)) (images.Image, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.here[ref] {
		e.pulls = append(e.pulls, ref)
	}
	e.here[ref] = true
	if e.disk > 0 && e.taken() > e.disk {
		delete(e.here, ref)
		return images.Image{}, fault.New(fault.Host, "pulling "+ref, syscall.ENOSPC)
	}
	return e.image(ref), nil
}

func (e *engine) Layers(_ context.Context, ref string) ([]images.Layer, error) {
	return e.of(ref[len("id:"):]), nil
}

func (e *engine) IDs(context.Context) (map[string]bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return ids(e.here), nil
}

func (e *engine) Used(context.Context) (map[string]bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return ids(e.used), nil
}

func ids(refs map[string]bool) map[string]bool {
	out := map[string]bool{}
	for ref := range refs {
		out[id(ref)] = true
	}
	return out
}

func (e *engine) Remove(_ context.Context, ref string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stuck[ref] || e.used[ref] {
		return fault.Newf(fault.Instance, "removing %s: it is in use", ref)
	}
	delete(e.here, ref)
	e.gone = append(e.gone, ref)
	return nil
}

func (e *engine) DiskFree(context.Context) (int64, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.disk - e.taken(), e.disk > 0, nil
}

func (e *engine) has() map[string]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.here)
}

func ledger(t testing.TB, dir string) *images.Ledger {
	t.Helper()
	l, err := images.OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// cache returns a cache that is closed at the end.
func cache(t testing.TB, e *engine, dir string, o images.Options) *images.Cache {
	t.Helper()
	c := images.New(e, ledger(t, dir), o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// acquire takes an image that must be available without a wait.
func acquire(t testing.TB, c *images.Cache, ref string) (release func()) {
	t.Helper()
	_, release, err := c.Acquire(t.Context(), "instance of "+ref, ref, nil)
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	return release
}

func plan(refs ...string) []images.Need {
	var needs []images.Need
	for i, ref := range refs {
		needs = append(needs, images.Need{ID: fmt.Sprint(i), Ref: ref})
	}
	return needs
}
