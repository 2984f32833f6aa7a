package sandbox

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// plain is an engine without containers. It is off until a time, and away until another one.
type plain struct {
	away
	id      string
	off     time.Time
	network error
	owned   []engine.Owned
	images  *shelf
}

func (e *plain) connect(context.Context, engine.Options) (engine.Engine, error) {
	if time.Now().Before(e.off) {
		return nil, fault.Newf(fault.Host, "it is off")
	}
	return e, nil
}

func (e *plain) About(context.Context) (engine.About, error) {
	return engine.About{ID: e.id, Store: e.id, CPUs: 1}, nil
}
func (e *plain) CheckNetwork(context.Context, string) error    { return e.network }
func (e *plain) Owned(context.Context) ([]engine.Owned, error) { return e.owned, nil }
func (e *plain) Remove(_ context.Context, id string) error {
	e.owned = slices.DeleteFunc(e.owned, func(o engine.Owned) bool { return o.ID == id })
	return nil
}
func (e *plain) Close() error               { return nil }
func (e *plain) ImageEngine() images.Engine { return e.images }
func (e *plain) Present(_ context.Context, refs []string, _ string) (map[string]bool, error) {
	here := map[string]bool{}
	for _, ref := range refs {
		here[ref] = e.images.here[ref]
	}
	return here, nil
}

// shelf has images of 10 bytes.
type shelf struct {
	unkept
	here map[string]bool
}

func (s *shelf) Image(_ context.Context, ref string) (images.Image, bool, error) {
	return images.Image{Image: vocab.Image{Ref: ref, ID: ref}, Size: 10, Names: 1}, s.here[ref], nil
}

func (s *shelf) Pull(ctx context.Context, ref string, _ func(images.Progress)) (images.Image, error) {
	s.here[ref] = true
	img, _, err := s.Image(ctx, ref)
	return img, err
}

func (s *shelf) IDs(context.Context) (map[string]bool, error) { return s.here, nil }

func (s *shelf) Remove(_ context.Context, ref string) error {
	delete(s.here, ref)
	return nil
}

// plainHost returns a host on engines named first, second and so on.
func plainHost(t *testing.T, said *[]string, list ...*plain) *Host {
	t.Helper()
	c := Config{State: t.TempDir(), Lease: "lease", Notify: func(text string) { *said = append(*said, text) }}
	for i, e := range list {
		c.Engines = append(c.Engines, Engine{Address: strings.Fields("first second third")[i], Connect: e.connect, Workers: 1})
	}
	h, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func named(id string, off time.Duration) *plain {
	return &plain{id: id, off: time.Now().Add(off), images: &shelf{here: map[string]bool{}}}
}

// An engine that was absent when the run started is used as soon as it answers, with the images and
// containers that are there.
func TestAnAbsentEngineIsUsedWhenItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		late := named("1", 25*time.Second)
		late.owned = []engine.Owned{{ID: "c", Instance: "i", Attempt: "1", Lease: "lease", Dead: true}}
		h := plainHost(t, &said, late, named("2", 0))
		if s, _, err := h.enter(t.Context(), "x", false, nil); err != nil || s.Address != "second" {
			t.Fatalf("got %v, %v; want the engine that answers", s, err)
		}
		began := time.Now()
		s, _, err := h.enter(t.Context(), "x", false, nil)
		if waited := time.Since(began); err != nil || s.Address != "first" || waited < 25*time.Second || waited > 25*time.Second+absentPause+lookAgain {
			t.Fatalf("got %v, %v after %v; want the other engine soon after it answers", s, err, waited)
		}
		if left := h.leftOn(s).left["i"]; len(left) != 1 || left[0].ID != "c" {
			t.Errorf("the instance's containers there are %+v", left)
		}
		synctest.Wait()
		if len(said) != 2 || !strings.Contains(said[0], "first is not used until it answers: it is off") || !strings.Contains(said[1], "first answers, and is used") {
			t.Errorf("said %q", said)
		}
	})
}

// A run waits for an absent engine as for one that is away.
func TestAnAbsentEngineSavesARunWithoutEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		lost := named("2", 0)
		h := plainHost(t, &said, named("1", 25*time.Second), lost)
		lost.until, lost.patience = time.Now().Add(time.Hour), time.Minute
		if s, _, err := h.enter(t.Context(), "x", false, nil); err != nil || s.Address != "first" {
			t.Errorf("got %v, %v; want the engine that was absent", s, err)
		}
		lost.until = time.Now()
	})
}

// What would refuse a run at its start refuses an absent engine, once.
func TestAnAbsentEngineIsRefused(t *testing.T) {
	for want, change := range map[string]func(*plain){
		"engines second and first are the same one": func(e *plain) { e.id = "2" },
		"there is no network":                       func(e *plain) { e.network = fault.Newf(fault.Usage, "there is no network") },
	} {
		synctest.Test(t, func(t *testing.T) {
			var said []string
			late := named("1", time.Second)
			change(late)
			h := plainHost(t, &said, late, named("2", 0))
			time.Sleep(time.Hour)
			synctest.Wait()
			if len(h.all()) != 1 || len(said) != 2 || !strings.Contains(said[1], "engine first is not used: ") || !strings.Contains(said[1], want) {
				t.Errorf("said %q; want once that %s", said, want)
			}
		})
	}
}

// An engine that evicted an image is no longer preferred for it.
func TestAnEvictedImageDecidesNothing(t *testing.T) {
	p := newPlacement()
	c := Config{State: t.TempDir(), Images: images.Options{Budget: 15}}.withDefaults()
	s, err := openSite(t.Context(), c, Engine{Connect: named("3", 0).connect, Workers: 9}, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"x", "y"} {
		_, release, err := s.images.Acquire(t.Context(), ref, ref, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.found(s, ref)
		release()
	}
	if s.has["x"] || !s.has["y"] {
		t.Errorf("the engine has %v, want y alone: x was evicted for it", s.has)
	}
}
