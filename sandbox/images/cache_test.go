package images_test

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
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/images"
)

func refs(m map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }

func TestTheDiskBudgetIsKept(t *testing.T) {
	e := newEngine(10)
	e.here["mine"] = true // the user pulled it
	c := cache(t, e, t.TempDir(), images.Options{Budget: 25})
	for _, ref := range []string{"a", "b", "a", "c", "d"} {
		acquire(t, c, ref)()
	}
	acquire(t, c, "mine")()
	if got := refs(e.has()); got != "c d mine" {
		t.Errorf("left %s; evicted %v; want %q", got, e.gone, "c d mine")
	}
	if got := strings.Join(e.gone, " "); got != "b a" {
		t.Errorf("evicted %s, want the least recently needed first", got)
	}
}

func TestPullSaysWhenAnImageIsPulled(t *testing.T) {
	for pull, want := range map[string]int{"": 1, "missing": 1, "always": 2, "never": 0} {
		e := newEngine(10)
		e.here["there"] = true
		counted := &pulls{engine: e}
		c := images.New(counted, ledger(t, t.TempDir()), images.Options{Pull: pull})
		acquire(t, c, "there")()
		acquire(t, c, "there")()
		if pull != "never" {
			acquire(t, c, "missing")()
		} else if _, _, err := c.Acquire(t.Context(), "i", "missing", nil); fault.KindOf(err) != fault.Instance {
			t.Errorf("never: %v, want an Instance fault", err)
		}
		if counted.n != want {
			t.Errorf("--pull %s: %d pulls, want %d", pull, counted.n, want)
		}
		if gone, _, err := c.Evict(t.Context(), 0, false); err != nil || len(gone) > 1 || !e.has()["there"] {
			t.Errorf("--pull %s: evicted %v, %v; the user's image must stay", pull, gone, err)
		}
	}
}

// pulls counts the pulls of an engine, also of images that it has.
type pulls struct {
	*engine
	n int
}

func (p *pulls) Pull(ctx context.Context, ref string, progress func(images.Progress)) (images.Image, error) {
	p.n++
	return p.engine.Pull(ctx, ref, progress)
}

func TestImagesOfTheUserAreNeverEvicted(t *testing.T) {
	e, dir := newEngine(10), t.TempDir()
	c := cache(t, e, dir, images.Options{})
	e.here["user's"] = true
	for _, ref := range []string{"user's", "batch's", "pulled again"} {
		acquire(t, c, ref)()
	}
	e.layers["pulled again"] = nil
	other := &renamed{engine: e, ref: "pulled again"}
	gone, kept, err := images.New(other, ledger(t, dir), images.Options{}).Evict(t.Context(), 0, false)
	if err != nil || len(gone) != 1 || gone[0].Ref != "batch's" || len(kept) != 1 || kept[0].Ref != "pulled again" {
		t.Errorf("evicted %+v, kept %+v, %v; want 1 gone, ref %q, 1 kept, ref %q, no error",
			gone, kept, err, "batch's", "pulled again")
	}
	if got := refs(e.has()); got != "pulled again user's" {
		t.Errorf("left %s, want %q", got, "pulled again user's")
	}
	entries, err := ledger(t, dir).Entries()
	if err != nil || len(entries) != 0 {
		t.Errorf("ledger %+v, %v; want no entries, no error", entries, err)
	}
}

// renamed is an engine in which the name ref now means another image.
type renamed struct {
	*engine
	ref string
}

func (r *renamed) Image(ctx context.Context, ref string) (images.Image, bool, error) {
	img, here, err := r.engine.Image(ctx, ref)
	if ref == r.ref {
		img.ID = "another"
	}
	return img, here, err
}

func TestAnInstanceWaitsForRoomInsteadOfFailing(t *testing.T) {
	for name, o := range map[string]images.Options{
		"budget": {Budget: 25},
		"disk":   {Reserve: 100 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				size := int64(10)
				e := newEngine(size)
				if o.Budget == 0 {
					e.size, e.disk = 100<<20, 320<<20 // room for two, and the reserve
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
					t.Errorf("while both run: %s, logged %q", got, told)
				}
				second()
				<-done
				if got := refs(e.has()); got != "a c" {
					t.Errorf("then: %s, want %q", got, "a c")
				}
				first()
			})
		})
	}
}

func TestAWaitForRoomEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache(t, newEngine(10), t.TempDir(), images.Options{Budget: 10})
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
		acquire(t, c, "c")() // no space is still reserved
	})
}

func TestNoRoomAndNothingToEvictIsAHostFault(t *testing.T) {
	for name, tt := range map[string]struct {
		o       images.Options
		prepare func(e *engine)
		text    string
	}{
		"the disk is full": {
			o: images.Options{Reserve: 200 << 20}, text: "free on the engine's disk",
			prepare: func(e *engine) { e.disk = 150 << 20 },
		},
		"the image is larger than the budget": {
			o: images.Options{Budget: 5}, text: "the disk budget is too small",
			prepare: func(*engine) {},
		},
		"the disk fills up, and how much is free is unknown": {
			text: "disk was full",
			prepare: func(e *engine) {
				e.disk = 5
			},
			o: images.Options{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(10)
			tt.prepare(e)
			var eng images.Engine = e
			if strings.Contains(name, "unknown") {
				eng = blind{e}
			}
			c := images.New(eng, ledger(t, t.TempDir()), tt.o)
			_, _, err := c.Acquire(t.Context(), "x", "a", nil)
			if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), tt.text) || fault.HintOf(err) == "" {
				t.Errorf("got a fault of kind %v: %v (hint %q); want a Host fault with %q, a hint",
					fault.KindOf(err), err, fault.HintOf(err), tt.text)
			}
			if got := refs(e.has()); got != "" {
				t.Errorf("left %s, want nothing", got)
			}
		})
	}
}

// blind is an engine that does not report how much disk is free.
type blind struct{ *engine }

func (blind) DiskFree(context.Context) (int64, bool, error) { return 0, false, nil }

func TestAPullThatFillsTheDiskEvictsImages(t *testing.T) {
	e := newEngine(10)
	c := images.New(blind{e}, ledger(t, t.TempDir()), images.Options{})
	acquire(t, c, "a")()
	acquire(t, c, "b")()
	e.disk = 25
	acquire(t, c, "c")()
	if got := refs(e.has()); got != "b c" {
		t.Errorf("left %s, want %q", got, "b c")
	}
}

func TestImagesInUseAreNotEvicted(t *testing.T) {
	e := newEngine(10)
	c := cache(t, e, t.TempDir(), images.Options{})
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
		if why["used"] != "a container uses it" || why["held"] != "a run needs it" || (why["stuck"] == "") != dry {
			t.Errorf("dry run %v: kept for the reasons %v", dry, why)
		}
		if !dry && (len(gone) != 1 || gone[0].Ref != "idle") {
			t.Errorf("evicted %+v, want only idle", gone)
		}
		if here := e.has()["idle"]; here != dry {
			t.Errorf("dry run %v: idle is on the engine: %v", dry, here)
		}
	}
}

func TestImagesHeldByAnotherRunAreNotEvicted(t *testing.T) {
	for name, started := range map[string]bool{"before its container is started": false, "while its container runs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, dir := newEngine(10), t.TempDir()
				one := cache(t, e, dir, images.Options{Budget: 15})
				other := cache(t, e, dir, images.Options{Budget: 15})
				release := acquire(t, other, "other run's")
				if started {
					e.startContainer("other run's")
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					acquire(t, one, "this run's")()
				}()
				synctest.Wait()
				if got := refs(e.has()); got != "other run's" {
					t.Errorf("while they run: %s, want %q", got, "other run's")
				}
				e.removeContainer("other run's")
				release()
				<-done // the waiting run checks again by itself
				if got := refs(e.has()); got != "this run's" {
					t.Errorf("then: %s, want %q", got, "this run's")
				}
			})
		})
	}
}

func TestAContainerThatNoRunStartedIsNotWaitedFor(t *testing.T) {
	e, dir := newEngine(10), t.TempDir()
	acquire(t, cache(t, e, dir, images.Options{Budget: 15}), "in a person's container")()
	e.startContainer("in a person's container")
	_, _, err := cache(t, e, dir, images.Options{Budget: 15}).Acquire(t.Context(), "x", "this run's", nil)
	if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "the disk budget is too small") {
		t.Errorf("got %v (%v), want a Host fault, %q", err, fault.KindOf(err), "the disk budget is too small")
	}
}

func TestPrefetchPullsOnlyTheNextImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10)
		c := cache(t, e, t.TempDir(), images.Options{Ahead: 2})
		c.Plan(plan("a", "a", "b", "c", "d", "e"))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Prefetch(ctx) })
		synctest.Wait()
		if got := refs(e.has()); got != "a b" {
			t.Errorf("at first: %s, want %q", got, "a b")
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

// Images that the engine has are ready at once, others when they have been pulled.
func TestTheNextImagesAreReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10)
		c := cache(t, e, t.TempDir(), images.Options{Ahead: 2})
		c.Plan(plan("a", "b", "b", "c"))
		var got []string
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				r, ok := c.Ready(t.Context(), func(n images.Need) bool { return slices.Contains(got, n.Ref) })
				if !ok {
					return
				}
				r.End()
				if got = append(got, r.Ref); r.ID != "" || r.Image.ID != id(r.Ref) {
					t.Errorf("got %+v; want no instance, and the image", r)
				}
			}
		})
		for i, want := range []string{"", "b", "b a"} {
			if i > 0 {
				if _, err := e.Pull(t.Context(), []string{"", "b", "a"}[i], nil); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if list := strings.Join(got, " "); list != want {
				t.Errorf("after %d pulls: %s, want %s", i, list, want)
			}
		}
		for _, id := range []string{"0", "1", "2"} {
			c.Skip(id)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if list := strings.Join(got, " "); list != "b a" {
			t.Errorf("%s, want b a: the engine does not have c", list)
		}
		c.Skip("3")
		wg.Wait()
	})
}

// Work ahead ends when an instance of its image begins, and when another one has no space: its image is
// then evicted, as if there had been none.
func TestWorkAheadMakesRoom(t *testing.T) {
	for _, c := range []struct {
		name, begins, evicted string
	}{
		{"its instance begins", "a", ""},
		{"another instance needs the space", "b", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(60)
				held := cache(t, e, t.TempDir(), images.Options{Ahead: 1, Budget: 100})
				if _, _, err := held.Fetch(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				held.Plan(plan("a", "b"))
				r, ok := held.Ready(t.Context(), func(images.Need) bool { return false })
				if !ok {
					t.Fatal("no image is ready")
				}
				e.startContainer("a")
				began := time.Now()
				go func() {
					<-r.Context.Done()
					time.Sleep(time.Second) // the container's removal
					e.removeContainer("a")
					r.End()
				}()
				_, release, err := held.Acquire(t.Context(), "1", c.begins, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer release()
				synctest.Wait()
				time.Sleep(2 * time.Second)
				if took := time.Since(began); r.Context.Err() == nil || took > 5*time.Second {
					t.Errorf("the work ended with %v after %v, want at once", r.Context.Err(), took)
				}
				if c.evicted != "" && e.has()[c.evicted] {
					t.Errorf("%s is not evicted", c.evicted)
				}
			})
		})
	}
}

func TestNothingIsReadyWhileTheDiskIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10)
		c := cache(t, e, t.TempDir(), images.Options{Ahead: 1, Reserve: 5 << 30})
		if _, err := e.Pull(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		e.disk = 4 << 30
		c.Plan(plan("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if r, ok := c.Ready(ctx, func(images.Need) bool { return false }); ok {
			t.Errorf("%s is ready", r.Ref)
		}
	})
}

func TestPrefetchLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10)
		c := cache(t, e, t.TempDir(), images.Options{Ahead: 3, Budget: 25})
		c.Plan(plan("a", "b", "c", "d"))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Prefetch(ctx) })
		for i, ref := range []string{"a", "b", "c", "d"} {
			synctest.Wait()
			if e.taken() > 25 {
				t.Errorf("before %s: got %s, want taken at most 25", ref, refs(e.has()))
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
			t.Errorf("pulled %v: a prefetched image was evicted before its use", e.pulls)
		}
	})
}

func TestPrefetchPullsNothingOntoALowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(1 << 20)
		e.disk = 300 << 20
		c := cache(t, e, t.TempDir(), images.Options{Ahead: 3, Reserve: 200 << 20})
		c.Plan(plan("a", "b"))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Prefetch(ctx) })
		synctest.Wait()
		if got := refs(e.has()); got != "" {
			t.Errorf("pulled %s, want nothing", got)
		}
		cancel()
		wg.Wait()
	})
}

func TestAnUnreadableLedgerGivesAHint(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(1)
	c := cache(t, e, dir, images.Options{})
	acquire(t, c, "a")()
	writeFile(t, filepath.Join(dir, "ledger.json"), `{"version":1,"images":[{`)
	if _, _, err := c.Evict(t.Context(), 0, false); fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
		t.Errorf("got %v (hint %q); want a Host fault, a hint", err, fault.HintOf(err))
	}
	writeFile(t, filepath.Join(dir, "ledger.json"), `{"version":1,"images":[]}`)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An image held for later is not evicted for another one, which waits for its release.
func TestAHeldImageStaysUntilItIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(10)
		c := cache(t, e, t.TempDir(), images.Options{Budget: 15})
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
	c := cache(t, e, t.TempDir(), images.Options{})
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
	c := cache(t, newEngine(10), dir, images.Options{})
	var ends []func()
	for range 1000 {
		ends = append(ends, acquire(t, c, "a"))
	}
	if n := opened(); n != 1 {
		t.Errorf("a thousand holds have %d files open, want 1", n)
	}
	other := cache(t, newEngine(10), dir, images.Options{}) // as another process: it does not share the lock
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
