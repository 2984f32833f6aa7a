package images

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// parallel is how many images are pulled ahead at the same time. It is lower than the
// number of parallel pulls, so that waiting instances can pull their images too.
const parallel = 2

// Plan sets which images the run will need, one for each instance, in the order
// in which the instances begin. It replaces an earlier plan.
func (c *Cache) Plan(needs []Need) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan = plan{needs: needs, begun: map[string]bool{}, seen: map[string]bool{}}
	c.shared = map[Need]int{}
	for _, n := range needs {
		c.shared[Need{Ref: n.Ref, Commit: n.Commit}]++
	}
	c.broadcast()
}

// Skip records that the instance id of the plan will not begin.
func (c *Cache) Skip(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan.begin(id)
	c.broadcast()
}

// Sharing returns how many instances of the whole plan need ref with the commit.
func (c *Cache) Sharing(ref, commit string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shared[Need{Ref: ref, Commit: commit}]
}

// Expected reports whether an instance of the plan that has not begun needs ref.
func (c *Cache) Expected(ref string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, expected := c.plan.next()[ref]
	return expected
}

// Prefetch pulls the plan's images before the instances that need them begin, in the order
// of the plan, and at most [Options.Ahead] of them before the next instance begins. It does
// not pull while disk space is short. If a pull fails, the instance pulls the image
// itself. Prefetch returns when ctx ends or all instances of the plan have begun.
func (c *Cache) Prefetch(ctx context.Context) {
	var pulls errgroup.Group
	pulls.SetLimit(parallel)
	c.ledger.sweepNotes()
	// Its goroutines return no error.
	defer func() { _ = pulls.Wait() }()
	for ctx.Err() == nil {
		changed := c.next()
		ref, done := c.nextAhead()
		if done {
			return
		}
		// This decides on one image at a time, so that no image is pulled before
		// an earlier one for which there is no space yet.
		pull, later := false, true
		if ref != "" {
			pull, later = c.prepareAhead(ctx, ref)
		}
		if pull {
			pulls.Go(func() error { c.pullAhead(ctx, ref); return nil })
		}
		if later {
			wait(ctx, changed)
		}
	}
}

// nextAhead returns the first image that may be pulled ahead and was not handled yet. Done
// means that all instances have begun.
func (c *Cache) nextAhead() (ref string, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.plan.needs) == 0 {
		return "", true
	}
	for _, n := range c.plan.ahead(c.o.Ahead) {
		if !c.plan.seen[n.Ref] && c.held[n.Ref] == 0 {
			return n.Ref, false
		}
	}
	return "", false
}

// prepareAhead holds ref for its instance. Pull means that the caller must pull it, and the
// pull is counted already; later, that there is no space yet, so the caller must try again.
// If both are false, there is nothing more to do for ref.
func (c *Cache) prepareAhead(ctx context.Context, ref string) (pull, later bool) {
	lock, err := c.ledger.hold(ctx, ref)
	c.mu.Lock()
	c.plan.seen[ref] = true // if something fails now, the instance will report it
	if err != nil {
		c.mu.Unlock()
		return false, false
	}
	if c.held[ref] > 0 { // its instance has begun meanwhile
		c.mu.Unlock()
		_ = lock.Close()
		return false, false
	}
	c.ahead[ref] = lock
	c.mu.Unlock()
	if _, here, err := c.lookup(ctx, ref); err != nil || here || c.o.Pull == "never" {
		return false, false
	}
	if c.startPullAhead(ctx, ref) {
		return true, false
	}
	c.releaseAhead(ref)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.plan.seen, ref)
	return false, true
}

// startPullAhead counts a pull of ref as running if there is space for it and for twice the
// reserve.
func (c *Cache) startPullAhead(ctx context.Context, ref string) bool {
	if c.lockSpace(ctx) != nil {
		return false
	}
	defer c.unlockSpace()
	for {
		short, err := c.findShortage(ctx, ref, true, 2*c.o.Reserve)
		if err != nil {
			return false
		}
		if short == nil {
			c.startPull(ref)
			return true
		}
		if freed, _, err := c.evictOne(ctx, false); err != nil || !freed {
			return false
		}
	}
}

// Ready is an image that the engine has and an instance of the plan will need. It is held for work
// ahead of the instance.
type Ready struct {
	Need  // without ID
	Image Image

	// Context ends when an instance with the image begins, or one waits for disk space. The work must
	// end then.
	Context context.Context
	// End must be called when the work has ended.
	End func()
}

// Ready waits for an image of the next [Options.Ahead] ones of the plan that the engine has, and that
// skip does not exclude, while disk space is not short. It is false when ctx has ended or all
// instances have begun.
func (c *Cache) Ready(ctx context.Context, skip func(Need) bool) (Ready, bool) {
	for ctx.Err() == nil {
		changed := c.next()
		c.mu.Lock()
		done, needs := len(c.plan.needs) == 0, c.plan.ahead(c.o.Ahead)
		c.mu.Unlock()
		if done {
			return Ready{}, false
		}
		free, known, err := c.engine.DiskFree(ctx)
		if err != nil || known && free < max(minFree, c.o.Reserve) {
			needs = nil
		}
		for _, n := range needs {
			if n.ID = ""; skip(n) {
				continue
			}
			img, here, err := c.engine.Image(ctx, n.Ref)
			if err != nil || !here {
				continue
			}
			if r, ok := c.begin(ctx, n, img); ok {
				return r, true
			}
		}
		wait(ctx, changed)
	}
	return Ready{}, false
}

// begin counts work on an image as something that will end and then free disk space. It is false
// while an instance waits for space.
func (c *Cache) begin(ctx context.Context, n Need, img Image) (Ready, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 {
		return Ready{}, false
	}
	ctx, cancel := context.WithCancel(ctx)
	c.kept[n.Ref]++
	c.working[n.Ref] = cancel
	return Ready{Need: n, Image: img, Context: ctx, End: sync.OnceFunc(func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		drop(c.kept, n.Ref)
		delete(c.working, n.Ref)
		c.broadcast()
	})}, true
}

func (c *Cache) pullAhead(ctx context.Context, ref string) {
	if _, err := c.pull(ctx, ref, nil); err != nil {
		c.releaseAhead(ref)
		c.o.Log.Info("could not prefetch an image", "image", ref, "err", err)
	}
}

// Fetch makes sure that the engine has ref and reports whether it pulled it.
// It does not evict images and does not wait: too little disk space is a Host fault.
func (c *Cache) Fetch(ctx context.Context, ref string) (img Image, pulled bool, err error) {
	lock, err := c.ledger.hold(ctx, ref)
	if err != nil {
		return Image{}, false, err
	}
	defer lock.Close()
	img, here, err := c.engine.Image(ctx, ref)
	if err != nil || here {
		return img, false, err
	}
	short, err := c.findShortage(ctx, ref, true, c.o.Reserve)
	if err == nil && short != nil && !short.guess {
		err = noRoom(ref, short)
	}
	if err != nil {
		return Image{}, false, err
	}
	c.startPull(ref)
	img, err = c.pull(ctx, ref, nil)
	return img, err == nil, err
}

// Need is one instance's need of an image.
type Need struct {
	ID     string // of the instance
	Ref    string // of the image: see [Ref]
	Commit string // of the image's git history; counts only for [Cache.Sharing]
}

// plan lists the images that a run will need, in the order in which its instances begin.
type plan struct {
	needs []Need
	begun map[string]bool // ids
	seen  map[string]bool // refs that were pulled ahead, or failed to be
}

// begin records that the instance id has begun: the plan no longer contains its need.
func (p *plan) begin(id string) {
	if p.begun != nil {
		p.begun[id] = true
	}
	for len(p.needs) > 0 && p.begun[p.needs[0].ID] {
		p.needs = p.needs[1:]
	}
}

// next returns for each image the place in the plan at which it is needed again.
func (p *plan) next() map[string]int {
	next := make(map[string]int, len(p.needs))
	for i, n := range p.needs {
		if _, ok := next[n.Ref]; !ok && !p.begun[n.ID] {
			next[n.Ref] = i
		}
	}
	return next
}

// ahead returns the needs of the first n images of instances that have not begun, the first of each
// image.
func (p *plan) ahead(n int) (first []Need) {
	seen := map[string]bool{}
	for _, need := range p.needs {
		if len(first) >= n {
			break
		}
		if !p.begun[need.ID] && !seen[need.Ref] {
			seen[need.Ref] = true
			first = append(first, need)
		}
	}
	return first
}
