package imagecache

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// parallel is how many images are pulled ahead at the same time; it leaves
// some of the engine's parallel pulls to the instances that wait.
const parallel = 2

// Plan says which images the run will need, one for each instance in the order
// in which they begin. It replaces an earlier plan.
func (c *Cache) Plan(needs []Need) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan = newPlan(needs)
	c.shared = map[string]int{}
	for _, n := range needs {
		c.shared[n.Ref]++
	}
	c.broadcast()
}

// Sharing returns how many instances of the whole plan need ref.
func (c *Cache) Sharing(ref string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shared[ref]
}

// Prefetch pulls the plan's images ahead of the instances that need them, in
// their order and never more than [Options.Ahead] before the first that has
// not begun. It pulls nothing while room is short, and what it cannot pull it
// leaves to the instance. It returns when ctx ends or the whole plan has begun.
func (c *Cache) Prefetch(ctx context.Context) {
	var pulls errgroup.Group
	pulls.SetLimit(parallel)
	c.tidy(ctx)
	// Its goroutines return no error.
	defer func() { _ = pulls.Wait() }()
	for ctx.Err() == nil {
		changed := c.next()
		ref, done := c.chooseAhead()
		if done {
			return
		}
		// One image after the other is decided on, so that none overtakes
		// another for which there is no room yet.
		pull, later := false, true
		if ref != "" {
			pull, later = c.readyAhead(ctx, ref)
		}
		if pull {
			pulls.Go(func() error { c.pullAhead(ctx, ref); return nil })
		}
		if later {
			wait(ctx, changed)
		}
	}
}

// chooseAhead returns the first image within reach that nobody has seen to.
func (c *Cache) chooseAhead() (ref string, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.plan.needs) == 0 {
		return "", true
	}
	for _, ref := range c.plan.ahead(c.o.Ahead) {
		if !c.plan.seen[ref] && c.held[ref] == 0 {
			return ref, false
		}
	}
	return "", false
}

// readyAhead holds ref for its instance and says what is to be done: to pull
// it, which then counts as under way, or to come back later, when there is
// room to spare. With neither it has been seen to.
func (c *Cache) readyAhead(ctx context.Context, ref string) (pull, later bool) {
	lock, err := c.ledger.hold(ctx, ref)
	c.mu.Lock()
	c.plan.seen[ref] = true // whatever goes wrong now, the instance will meet
	if err != nil {
		c.mu.Unlock()
		return false, false
	}
	if c.held[ref] > 0 { // its instance was faster
		c.mu.Unlock()
		_ = lock.Close()
		return false, false
	}
	c.ahead[ref] = lock
	c.mu.Unlock()
	if _, here, err := c.engine.Image(ctx, ref); err != nil || here {
		return false, false
	}
	if c.flyAhead(ctx, ref) {
		return true, false
	}
	c.letGo(ref)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.plan.seen, ref)
	return false, true
}

// flyAhead counts a pull of ref as under way when there is room to spare for it.
func (c *Cache) flyAhead(ctx context.Context, ref string) bool {
	if c.lockDoor(ctx) != nil {
		return false
	}
	defer c.unlockDoor()
	for {
		short, err := c.lack(ctx, ref, true, 2*c.o.Reserve)
		if err != nil {
			return false
		}
		if short == nil {
			c.fly(ref)
			return true
		}
		if freed, _, err := c.evictOne(ctx, false); err != nil || !freed {
			return false
		}
	}
}

func (c *Cache) pullAhead(ctx context.Context, ref string) {
	if _, err := c.pull(ctx, ref, nil); err != nil {
		c.letGo(ref)
		c.o.Log.Info("an image could not be pulled ahead", "image", ref, "err", err)
	}
}

// Fetch makes sure that the engine has ref and reports whether it pulled it.
// It evicts nothing and waits for nothing: a disk that runs low is a Host fault.
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
	short, err := c.lack(ctx, ref, true, c.o.Reserve)
	if err == nil && short != nil && !short.guess {
		err = noRoom(ref, short)
	}
	if err != nil {
		return Image{}, false, err
	}
	c.fly(ref)
	img, err = c.pull(ctx, ref, nil)
	return img, err == nil, err
}
