package imagecache

import (
	"context"
	"sync"
	"time"
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
	c.broadcast()
}

// Prefetch pulls the plan's images ahead of the instances that need them, in
// their order and never more than [Options.Ahead] before the first that has
// not begun. It pulls nothing while room is short, and what it cannot pull it
// leaves to the instance. It returns when ctx ends or the whole plan has begun.
func (c *Cache) Prefetch(ctx context.Context) {
	var pulls sync.WaitGroup
	for range parallel {
		pulls.Go(func() {
			for c.prefetchNext(ctx) {
			}
		})
	}
	pulls.Wait()
}

// prefetchNext pulls one image, or waits for a change; false when there is
// nothing more to do.
func (c *Cache) prefetchNext(ctx context.Context) bool {
	changed := c.next()
	ref, done := c.chooseAhead()
	if done || ctx.Err() != nil {
		return false
	}
	if ref != "" && c.prefetch(ctx, ref) {
		return true
	}
	timer := time.NewTimer(recheck)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
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
	if err := c.lockDoor(ctx); err != nil {
		return Image{}, false, err
	}
	short, err := c.lack(ctx, ref, true, c.o.Reserve)
	if err == nil && short != nil && !short.guess {
		err = noRoom(ref, short)
	}
	if err == nil {
		c.mu.Lock()
		c.flights[ref]++
		c.mu.Unlock()
	}
	c.unlockDoor()
	if err != nil {
		return Image{}, false, err
	}
	img, err = c.pull(ctx, ref, nil)
	return img, err == nil, err
}

// chooseAhead takes the next image that nobody has seen to yet.
func (c *Cache) chooseAhead() (ref string, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.plan.needs) == 0 {
		return "", true
	}
	for _, ref := range c.plan.ahead(c.o.Ahead) {
		if !c.plan.taken[ref] && c.held[ref] == 0 {
			c.plan.taken[ref] = true
			return ref, false
		}
	}
	return "", false
}

// prefetch sees to one image; false when there is no room for it now.
func (c *Cache) prefetch(ctx context.Context, ref string) bool {
	lock, err := c.ledger.hold(ctx, ref)
	if err != nil {
		return true // the instance will meet it
	}
	c.mu.Lock()
	if c.held[ref] > 0 { // its instance was faster
		c.mu.Unlock()
		_ = lock.Close()
		return true
	}
	c.ahead[ref] = lock
	c.mu.Unlock()
	_, here, err := c.engine.Image(ctx, ref)
	if err != nil || here {
		return true
	}
	if !c.flyAhead(ctx, ref) {
		c.letGo(ref)
		c.mu.Lock()
		delete(c.plan.taken, ref)
		c.mu.Unlock()
		return false
	}
	if _, err := c.pull(ctx, ref, nil); err != nil {
		c.letGo(ref)
		c.o.Log.Info("an image could not be pulled ahead", "image", ref, "err", err)
	}
	return true
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
			c.mu.Lock()
			defer c.mu.Unlock()
			c.flights[ref]++
			return true
		}
		if freed, _, err := c.evictOne(ctx, false); err != nil || !freed {
			return false
		}
	}
}
