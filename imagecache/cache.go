package imagecache

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/vocab"
)

const (
	floor   = 64 << 20         // bytes free without which not even a container is begun
	recheck = 10 * time.Second // how often one who waits looks whether others freed disk
)

// Options are the settings of a [Cache]; the zero value works.
type Options struct {
	// Budget is how many bytes the images in the ledger may take together; 0 is
	// no limit. How large an image is shows only when it is there, and is
	// guessed from the one before: what a pull takes too much is evicted at once.
	Budget int64

	Reserve int64             // bytes that must be free on the engine's disk before a pull
	Ahead   int               // images of the plan that are pulled before their instances begin
	Notify  func(text string) // told when an instance begins to wait for room; nil ignores
	Log     *slog.Logger      // nil discards
}

// Cache sees to the images of one run. It is safe for concurrent use.
type Cache struct {
	engine Engine
	ledger *Ledger
	o      Options
	door   chan struct{} // held by whoever looks for room: one at a time decides

	mu      sync.Mutex
	changed chan struct{}           // closed and replaced when something ends that another may wait for
	plan    plan                    // what the run will need
	shared  map[string]int          // instances of the plan, by ref
	derived map[string]string       // ref -> id, of those in the ledger
	held    map[string]int          // refs that instances have, those that wait included
	running int                     // instances that were let in and have not ended
	flights map[string]int          // pulls under way
	ahead   map[string]*flock.Flock // refs held for instances that have not begun
	needed  map[string]time.Time    // not in the ledger yet
	waiting int
	growth  int64 // bytes by which the last pull made the images grow; 0 when nothing is known
}

// New returns a cache of the images on engine, with its ledger.
func New(engine Engine, ledger *Ledger, o Options) *Cache {
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Cache{
		engine: engine, ledger: ledger, o: o, door: make(chan struct{}, 1), changed: make(chan struct{}),
		held: map[string]int{}, flights: map[string]int{}, ahead: map[string]*flock.Flock{},
		needed: map[string]time.Time{}, derived: map[string]string{},
	}
}

// Close lets go of what was pulled ahead and writes the ledger. Prefetch must
// have returned and every lease have been released.
func (c *Cache) Close() error {
	c.mu.Lock()
	for ref, lock := range c.ahead {
		_ = lock.Close()
		delete(c.ahead, ref)
	}
	needed := c.needed
	c.needed = map[string]time.Time{}
	c.mu.Unlock()
	entries, err := c.ledger.Entries()
	if err != nil {
		return err
	}
	ours := func(e Entry) bool { return !needed[e.Ref].IsZero() }
	if !slices.ContainsFunc(entries, ours) {
		return nil
	}
	return c.ledger.update(func(all map[string]Entry) { touch(all, needed) })
}

func touch(all map[string]Entry, needed map[string]time.Time) {
	for ref, at := range needed {
		if e, ok := all[ref]; ok && at.After(e.Needed) {
			e.Needed = at
			all[ref] = e
		}
	}
}

// lease is one instance's right to an image.
type lease struct {
	ref  string
	lock *flock.Flock
	in   bool // it was let in, and counts as running
}

// Acquire makes sure that the engine has ref, for the instance id of the plan,
// and holds it until release is called, which must happen once the instance's
// container is gone; further calls do nothing. While room is short it evicts,
// or waits for other instances to end. It fails with a Host fault when there is
// no room, nothing to evict and nothing to wait for; else with the engine's
// error. After an error nothing is held.
func (c *Cache) Acquire(ctx context.Context, id, ref string, progress func(Progress)) (img Image, release func(), err error) {
	lock, err := c.ledger.hold(ctx, ref)
	if err != nil {
		return Image{}, nil, err
	}
	l := &lease{ref: ref, lock: lock}
	c.take(id, l)
	release = sync.OnceFunc(func() { c.release(l) })
	img, err = c.ensure(ctx, l, progress)
	if err != nil {
		release()
		if errors.Is(err, errTooLarge) {
			_, _, evictErr := c.Evict(context.WithoutCancel(ctx), c.o.Budget, false)
			err = errors.Join(err, evictErr)
		}
		return Image{}, nil, err
	}
	return img, release, nil
}

// take notes that the instance id has begun.
func (c *Cache) take(id string, l *lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan.begin(id)
	c.held[l.ref]++
	c.needed[l.ref] = time.Now()
	if lock := c.ahead[l.ref]; lock != nil {
		_ = lock.Close()
		delete(c.ahead, l.ref)
	}
	c.broadcast() // the plan has moved on
}

func (c *Cache) release(l *lease) {
	c.letOut(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[l.ref]--; c.held[l.ref] == 0 {
		delete(c.held, l.ref)
	}
	c.needed[l.ref] = time.Now()
	_ = l.lock.Close()
	c.broadcast()
}

// broadcast is called with c.mu held.
func (c *Cache) broadcast() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// next returns a channel that is closed at the next change.
func (c *Cache) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// fullPulls is how often an instance's pull may find the disk full.
const fullPulls = 4

// ensure lets the lease in when there is room, and pulls its image when it is
// missing.
func (c *Cache) ensure(ctx context.Context, l *lease, progress func(Progress)) (Image, error) {
	for full := 0; ; full++ {
		img, here, err := c.engine.Image(ctx, l.ref)
		if err != nil {
			return Image{}, err
		}
		if err := c.admit(ctx, l, !here, full > 0); err != nil || here {
			return img, err
		}
		img, err = c.pull(ctx, l.ref, progress)
		if err == nil {
			return img, c.keepBudget(ctx, l)
		}
		if !errors.Is(err, syscall.ENOSPC) || full == fullPulls {
			return Image{}, err
		}
		c.o.Log.Warn("the disk filled up during a pull", "image", l.ref, "err", err)
		c.letOut(l)
	}
}

// letOut makes the lease wait for room again.
func (c *Cache) letOut(l *lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.in {
		l.in = false
		c.running--
	}
	c.broadcast()
}

// pull pulls ref, which admit or prefetch has counted as a flight, and enters
// it in the ledger.
func (c *Cache) pull(ctx context.Context, ref string, progress func(Progress)) (Image, error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.flights[ref]--; c.flights[ref] == 0 {
			delete(c.flights, ref)
		}
		c.broadcast()
	}()
	img, err := c.engine.Pull(ctx, ref, progress)
	if err != nil {
		return Image{}, err
	}
	// It is there: whoever is told to stop now must still write it down.
	if err := c.record(context.WithoutCancel(ctx), ref, img); err != nil {
		c.o.Log.Warn("an image was pulled and counts as yours, since the ledger cannot be written", "image", ref, "err", err)
	}
	return img, nil
}

func (c *Cache) record(ctx context.Context, ref string, img Image) error {
	layers, err := c.engine.Layers(ctx, withID(ref, img.ID))
	if err != nil {
		c.o.Log.Warn("an image counts whole", "image", ref, "err", err)
	}
	c.mu.Lock()
	needed := c.needed
	c.needed = map[string]time.Time{}
	c.mu.Unlock()
	now := time.Now()
	var grown int64
	err = c.ledger.update(func(all map[string]Entry) {
		touch(all, needed)
		before := size(values(all))
		all[ref] = Entry{Image: vocab.Image{Ref: ref, ID: img.ID, Digest: img.Digest}, Size: img.Size, Layers: layers, Pulled: now, Needed: now}
		grown = size(values(all)) - before
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if grown > 0 {
		c.growth = grown
	}
	return err
}
