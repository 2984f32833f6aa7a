package images

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

const (
	minFree = 64 << 20         // bytes that must be free on the engine's disk to start a container
	recheck = 10 * time.Second // how often a waiting instance checks whether another process freed disk space
)

// Options are the settings of a [Cache]; the zero value works.
type Options struct {
	// Budget is how many bytes the images in the ledger may use together; 0 means
	// no limit. The size of an image is known only after its pull; before, the size of the
	// previous image is the estimate. If a pull exceeds the budget, images are evicted at
	// once.
	Budget int64

	Pull string // never: missing images are not pulled; always: each image is pulled once, also if it is there

	Reserve int64             // bytes that must be free on the engine's disk before a pull
	Ahead   int               // how many images of the plan may be pulled before their instances begin
	Notify  func(text string) // called when an instance begins to wait for disk space; nil ignores
	Gone    func(ref string)  // called when an image was evicted, or is found to be gone; nil ignores
	Log     *slog.Logger      // nil discards
}

// Cache manages the images of one run. It is safe for concurrent use.
type Cache struct {
	engine Engine
	ledger *Ledger
	o      Options
	pulled sync.Map      // the refs that were pulled
	space  chan struct{} // a lock: one caller at a time looks for disk space

	mu      sync.Mutex
	changed chan struct{}        // closed and replaced at each change, for callers that wait
	plan    plan                 // the run's future needs
	shared  map[Need]int         // without ID -> number of instances in the plan
	held    map[string]int       // ref -> number of instances that have it or wait for it
	kept    map[string]int       // ref -> number of Holds, which held also counts, and of work ahead
	working map[string]func()    // ref -> ends the work ahead that is under way
	running int                  // instances that were admitted and have not ended
	pulling map[string]int       // ref -> number of running pulls
	ahead   map[string]*hold     // refs held for instances that have not begun
	needed  map[string]time.Time // ref -> time it was last needed, if that is not in the ledger yet
	waiting int                  // instances that wait for disk space
	growth  int64                // bytes that the last pull added; 0 if that is not known
}

// New returns a cache of the images on engine, with its ledger.
func New(engine Engine, ledger *Ledger, o Options) *Cache {
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	if o.Gone == nil {
		o.Gone = func(string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Cache{
		engine: engine, ledger: ledger, o: o, space: make(chan struct{}, 1), changed: make(chan struct{}),
		held: map[string]int{}, kept: map[string]int{}, pulling: map[string]int{}, ahead: map[string]*hold{},
		working: map[string]func(){}, needed: map[string]time.Time{},
	}
}

// Close releases the images that were pulled ahead and writes the ledger. Before that,
// Prefetch must have returned and every lease must have been released.
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
	if !slices.ContainsFunc(entries, func(e Entry) bool { return !needed[e.Ref].IsZero() }) {
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
	ref      string
	lock     *hold
	admitted bool // it counts as running
}

// Acquire makes sure that the engine has ref, for the instance id of the plan,
// and holds the image until release is called. The caller must call release after the
// instance's container was removed; further calls do nothing. While disk space is short,
// Acquire evicts images or waits for other instances to end. If there is no space, nothing
// to evict and nothing to wait for, it returns a Host fault; other errors are the engine's.
// After an error, nothing is held.
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

// take records that the instance id has begun.
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
	if end := c.working[l.ref]; end != nil {
		end()
	}
	c.broadcast() // the next images of the plan may be pulled ahead
}

func (c *Cache) release(l *lease) {
	c.stop(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	drop(c.held, l.ref)
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

// fullPulls is how often a pull for an instance is tried again after the disk was full.
const fullPulls = 4

// ensure waits until there is space for the lease, and pulls its image if it is
// missing.
func (c *Cache) ensure(ctx context.Context, l *lease, progress func(Progress)) (Image, error) {
	for full := 0; ; full++ {
		img, here, err := c.lookup(ctx, l.ref)
		if err != nil {
			return Image{}, err
		}
		if err := c.admit(ctx, l, !here, full > 0); err != nil || here {
			return img, err
		}
		img, err = c.pull(ctx, l.ref, progress)
		if err == nil {
			return img, c.enforceBudget(ctx, l)
		}
		if !errors.Is(err, syscall.ENOSPC) || full == fullPulls {
			return Image{}, err
		}
		c.o.Log.Warn("the disk filled up during a pull", "image", l.ref, "err", err)
		c.stop(l)
	}
}

// lookup returns an image if the engine has it, and it need not be pulled again.
func (c *Cache) lookup(ctx context.Context, ref string) (img Image, here bool, err error) {
	img, here, err = c.engine.Image(ctx, ref)
	if _, pulled := c.pulled.Load(ref); c.o.Pull == "always" && !pulled {
		here = false
	}
	return img, here, err
}

// stop ends the lease's admission: it no longer counts as running.
func (c *Cache) stop(l *lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.admitted {
		l.admitted = false
		c.running--
	}
	c.broadcast()
}

// pull pulls ref and enters it in the ledger. The caller has counted the pull with
// startPull; pull ends that count.
func (c *Cache) pull(ctx context.Context, ref string, progress func(Progress)) (Image, error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pulling[ref]--; c.pulling[ref] == 0 {
			delete(c.pulling, ref)
		}
		c.broadcast()
	}()
	_, was, err := c.engine.Image(ctx, ref)
	switch {
	case err != nil:
		return Image{}, err
	case c.o.Pull == "never":
		return Image{}, fault.Newf(fault.Instance, "the engine does not have image %s, and environment.run_args has --pull never", ref)
	}
	img, err := c.engine.Pull(ctx, ref, progress)
	if err != nil {
		return Image{}, err
	}
	c.pulled.Store(ref, true)
	if was { // the user's stays the user's
		return img, nil
	}
	// The image is on the engine now, so it is recorded even if ctx has ended.
	if err := c.record(context.WithoutCancel(ctx), ref, img); err != nil {
		c.o.Log.Warn("an image was pulled but could not be added to the ledger; batch will never evict it", "image", ref, "err", err)
	}
	return img, nil
}

func (c *Cache) record(ctx context.Context, ref string, img Image) error {
	layers, err := c.engine.Layers(ctx, withID(ref, img.ID))
	if err != nil {
		c.o.Log.Warn("could not read the layers of an image; its full size is counted", "image", ref, "err", err)
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

// Hold keeps the image ref on the engine until release is called, without beginning an
// instance: for work that needs the image later, and that will then Acquire it. The caller
// holds a lease on ref while it calls Hold. The caller must call release; further calls do
// nothing.
//
// An instance that lacks disk space waits for the release of held images, as it waits for
// running instances. An instance that itself needs a held image does not.
func (c *Cache) Hold(ctx context.Context, ref string) (release func(), err error) {
	lock, err := c.ledger.hold(ctx, ref)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[ref]++
	c.kept[ref]++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		drop(c.held, ref)
		drop(c.kept, ref)
		c.needed[ref] = time.Now()
		_ = lock.Close()
		c.broadcast()
	}), nil
}

func drop(counts map[string]int, ref string) {
	if counts[ref]--; counts[ref] == 0 {
		delete(counts, ref)
	}
}
