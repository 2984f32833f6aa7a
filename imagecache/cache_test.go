package imagecache_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
)

func refs(m map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }

func TestTheBudgetIsKept(t *testing.T) {
	e := newEngine(10)
	e.here["mine"] = true // the user had it
	c := cache(t, e, t.TempDir(), imagecache.Options{Budget: 25})
	for _, ref := range []string{"a", "b", "a", "c", "d"} {
		acquire(t, c, ref)()
	}
	acquire(t, c, "mine")()
	if got := refs(e.has()); got != "c d mine" {
		t.Errorf("left %s; evicted %v", got, e.gone)
	}
	if got := strings.Join(e.gone, " "); got != "b a" {
		t.Errorf("evicted %s, want the least recently needed first", got)
	}
}

func TestWhatTheUserHasIsNeverEvicted(t *testing.T) {
	e, dir := newEngine(10), t.TempDir()
	c := cache(t, e, dir, imagecache.Options{})
	e.here["user's"] = true
	for _, ref := range []string{"user's", "ours", "pulled again"} {
		acquire(t, c, ref)()
	}
	e.layers["pulled again"] = nil
	other := &renamed{engine: e, ref: "pulled again"}
	gone, kept, err := imagecache.New(other, ledger(t, dir), imagecache.Options{}).Evict(t.Context(), 0, false)
	if err != nil || len(gone) != 1 || gone[0].Ref != "ours" || len(kept) != 1 || kept[0].Ref != "pulled again" {
		t.Errorf("evicted %+v, kept %+v, %v", gone, kept, err)
	}
	if got := refs(e.has()); got != "pulled again user's" {
		t.Errorf("left %s", got)
	}
	entries, err := ledger(t, dir).Entries()
	if err != nil || len(entries) != 0 {
		t.Errorf("ledger %+v, %v", entries, err)
	}
}

// renamed is an engine whose name ref means another image than it did.
type renamed struct {
	*engine
	ref string
}

func (r *renamed) Image(ctx context.Context, ref string) (imagecache.Image, bool, error) {
	img, here, err := r.engine.Image(ctx, ref)
	if ref == r.ref {
		img.ID = "another"
	}
	return img, here, err
}

func TestAnInstanceWaitsForRoomInsteadOfFailing(t *testing.T) {
	for name, o := range map[string]imagecache.Options{
		"budget": {Budget: 25},
		"disk":   {Reserve: 100 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				size := int64(10)
				e := newEngine(size)
				if o.Budget == 0 {
					e.size, e.disk = 100<<20, 320<<20 // two, and the reserve
				}
				var told []string
				o.Notify = func(text string) { told = append(told, text) }
				c := cache(t, e, t.TempDir(), o)
				first, second := acquire(t, c, "a"), acquire(t, c, "b")
				done := make(chan struct{})
				go func() {
					defer close(done)
					acquire(t, c, "c")()
				}()
				synctest.Wait()
				if got := refs(e.has()); got != "a b" || len(told) != 1 {
					t.Errorf("while both run: %s, told %q", got, told)
				}
				second()
				<-done
				if got := refs(e.has()); got != "a c" {
					t.Errorf("then: %s", got)
				}
				first()
			})
		})
	}
}

func TestAWaitForRoomEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache(t, newEngine(10), t.TempDir(), imagecache.Options{Budget: 10})
		release := acquire(t, c, "a")
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		go func() {
			_, _, err := c.Acquire(ctx, "x", "b", nil)
			errs <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		release()
		acquire(t, c, "c")() // nothing was left counted
	})
}

func TestNoRoomAndNothingToWaitForIsAFaultOfTheHost(t *testing.T) {
	for name, tt := range map[string]struct {
		o       imagecache.Options
		prepare func(e *engine)
		text    string
	}{
		"the disk is full": {
			o: imagecache.Options{Reserve: 200 << 20}, text: "free on the engine's disk",
			prepare: func(e *engine) { e.disk = 150 << 20 },
		},
		"the image is larger than the budget": {
			o: imagecache.Options{Budget: 5}, text: "the disk budget is too small",
			prepare: func(*engine) {},
		},
		"the disk fills up, and how much is free is unknown": {
			text: "disk was full",
			prepare: func(e *engine) {
				e.disk = 5
			},
			o: imagecache.Options{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(10)
			tt.prepare(e)
			var eng imagecache.Engine = e
			if strings.Contains(name, "unknown") {
				eng = blind{e}
			}
			c := imagecache.New(eng, ledger(t, t.TempDir()), tt.o)
			_, _, err := c.Acquire(t.Context(), "x", "a", nil)
			if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), tt.text) || fault.HintOf(err) == "" {
				t.Errorf("%v: %v (hint %q)", fault.KindOf(err), err, fault.HintOf(err))
			}
			if got := refs(e.has()); got != "" {
				t.Errorf("left %s", got)
			}
		})
	}
}

// blind is an engine that does not tell how much disk is free.
type blind struct{ *engine }

func (blind) DiskFree(context.Context) (int64, bool, error) { return 0, false, nil }

func TestAPullThatFillsTheDiskIsMadeRoomFor(t *testing.T) {
	e := newEngine(10)
	c := imagecache.New(blind{e}, ledger(t, t.TempDir()), imagecache.Options{})
	acquire(t, c, "a")()
	acquire(t, c, "b")()
	e.disk = 25
	acquire(t, c, "c")()
	if got := refs(e.has()); got != "b c" {
		t.Errorf("left %s", got)
	}
}

func TestAnImageThatContainersHaveOrTheEngineKeepsStays(t *testing.T) {
	e := newEngine(10)
	c := cache(t, e, t.TempDir(), imagecache.Options{})
	for _, ref := range []string{"used", "stuck", "idle", "held"} {
		release := acquire(t, c, ref)
		if ref != "held" {
			release()
		} else {
			defer release()
		}
	}
	e.used["used"], e.stuck["stuck"] = true, true
	for _, dry := range []bool{true, false} {
		gone, kept, err := c.Evict(t.Context(), 0, dry)
		if err != nil {
			t.Fatal(err)
		}
		why := map[string]string{}
		for _, k := range kept {
			why[k.Ref] = k.Why
		}
		if why["used"] != "a container has it" || why["held"] != "a run needs it" || (why["stuck"] == "") != dry {
			t.Errorf("dry %v: kept %v", dry, why)
		}
		if !dry && (len(gone) != 1 || gone[0].Ref != "idle") {
			t.Errorf("evicted %+v", gone)
		}
		if here := e.has()["idle"]; here != dry {
			t.Errorf("dry %v: idle is here: %v", dry, here)
		}
	}
}

func TestWhatAnotherRunHoldsStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, dir := newEngine(10), t.TempDir()
		one := cache(t, e, dir, imagecache.Options{Budget: 15})
		other := cache(t, e, dir, imagecache.Options{Budget: 15})
		release := acquire(t, other, "theirs")
		done := make(chan struct{})
		go func() {
			defer close(done)
			acquire(t, one, "ours")()
		}()
		synctest.Wait()
		if got := refs(e.has()); got != "theirs" {
			t.Errorf("while they run: %s", got)
		}
		release()
		<-done // it looks again by itself
		if got := refs(e.has()); got != "ours" {
			t.Errorf("then: %s", got)
		}
	})
}

func TestPrefetchStaysJustAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10)
		c := cache(t, e, t.TempDir(), imagecache.Options{Ahead: 2})
		c.Plan(plan("a", "a", "b", "c", "d", "e"))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Prefetch(ctx) })
		synctest.Wait()
		if got := refs(e.has()); got != "a b" {
			t.Errorf("at first: %s", got)
		}
		for i, want := range []string{"a b", "a b c", "a b c d", "a b c d e", "a b c d e"} {
			ref := plan("a", "a", "b", "c", "d", "e")[i].Ref
			_, release, err := c.Acquire(t.Context(), string(rune('0'+i)), ref, nil)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := refs(e.has()); got != want {
				t.Errorf("with instance %d: %s, want %s", i, got, want)
			}
			release()
		}
		cancel()
		wg.Wait()
	})
}

func TestPrefetchLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10)
		c := cache(t, e, t.TempDir(), imagecache.Options{Ahead: 3, Budget: 25})
		c.Plan(plan("a", "b", "c", "d"))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Prefetch(ctx) })
		for i, ref := range []string{"a", "b", "c", "d"} {
			synctest.Wait()
			if e.taken() > 25 {
				t.Errorf("before %s: %s", ref, refs(e.has()))
			}
			_, release, err := c.Acquire(t.Context(), string(rune('0'+i)), ref, nil)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if !e.has()[ref] {
				t.Errorf("%s was evicted while it was held", ref)
			}
			release()
		}
		cancel()
		wg.Wait()
		if len(e.pulls) != 4 {
			t.Errorf("pulled %v: something was evicted before it was needed", e.pulls)
		}
	})
}

func TestPrefetchPullsNothingOntoALowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(1 << 20)
		e.disk = 300 << 20
		c := cache(t, e, t.TempDir(), imagecache.Options{Ahead: 3, Reserve: 200 << 20})
		c.Plan(plan("a", "b"))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Prefetch(ctx) })
		synctest.Wait()
		if got := refs(e.has()); got != "" {
			t.Errorf("pulled %s", got)
		}
		cancel()
		wg.Wait()
	})
}

func TestWhatIsPulledAheadGoesWhenNothingElseCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10)
		c := cache(t, e, t.TempDir(), imagecache.Options{Ahead: 2, Budget: 20})
		c.Plan(plan("b", "c"))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Prefetch(ctx) })
		synctest.Wait()
		acquire(t, c, "a")() // a second attempt, say, at what began long ago
		if got := refs(e.has()); got != "a b" {
			t.Errorf("left %s, want what is needed last to go first", got)
		}
		cancel()
		wg.Wait()
	})
}

func TestALedgerThatCannotBeReadSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(1)
	c := cache(t, e, dir, imagecache.Options{})
	acquire(t, c, "a")()
	writeFile(t, filepath.Join(dir, "ledger.json"), `{"version":1,"images":[{`)
	if _, _, err := c.Evict(t.Context(), 0, false); fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
		t.Errorf("%v (hint %q)", err, fault.HintOf(err))
	}
	writeFile(t, filepath.Join(dir, "ledger.json"), `{"version":1,"images":[]}`)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
