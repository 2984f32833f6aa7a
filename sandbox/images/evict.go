package images

import (
	"cmp"
	"context"
	"slices"

	"batch.example/batch/fault"
)

// Kept is an image that should have been evicted but could not be.
type Kept struct {
	Entry
	Why string
}

// Evict removes images that batch pulled, in any run, until the others use at most keep
// bytes. The least recently needed images are removed first. Evict returns the images that
// it removed, or would remove if dry is set, and the images that it could not remove.
func (c *Cache) Evict(ctx context.Context, keep int64, dry bool) (gone []Entry, kept []Kept, err error) {
	entries, err := c.present(ctx)
	if err != nil {
		return nil, nil, err
	}
	used, err := c.engine.Used(ctx)
	if err != nil {
		return nil, nil, err
	}
	left := entries
	for _, e := range (view{entries: entries}).victims(true) {
		if size(left) <= keep {
			break
		}
		if used[e.ID] {
			kept = append(kept, Kept{e, "a container uses it"})
			continue
		}
		why, err := c.evict(ctx, e, dry)
		if err != nil {
			return gone, kept, err
		}
		if why != "" {
			kept = append(kept, Kept{e, why})
			continue
		}
		gone = append(gone, e)
		left = slices.DeleteFunc(left, func(x Entry) bool { return x.Ref == e.Ref })
	}
	return gone, kept, nil
}

// evictOne removes one image, the first of the victims that can be removed. Blocked means
// that another run holds an image, and so will release it. With force, an image that
// another run's container uses counts as held. It is called with the space lock held.
func (c *Cache) evictOne(ctx context.Context, force bool) (freed, blocked bool, err error) {
	entries, err := c.present(ctx)
	if err != nil || len(entries) == 0 {
		return false, false, err
	}
	used, err := c.engine.Used(ctx)
	if err != nil {
		return false, false, err
	}
	v := c.view(entries, used)
	for _, e := range v.victims(force) {
		c.releaseAhead(e.Ref)
		why, err := c.evict(ctx, e, false)
		if err != nil {
			return false, blocked, err
		}
		if why == "" {
			c.o.Log.Info("evicted an image", "image", e.Ref, "bytes", e.Size)
			return true, blocked, nil
		}
		blocked = blocked || why == heldElsewhere
	}
	if force && !blocked {
		blocked, err = c.usedElsewhere(v)
	}
	return false, blocked, err
}

// usedElsewhere reports whether containers of another run use one of the images: a run
// holds the images of its containers. A container that was not started by a run does not
// count, because it may never end.
func (c *Cache) usedElsewhere(v view) (bool, error) {
	for _, e := range v.entries {
		if !v.used[e.ID] || v.held[nameOf(e.Ref)] {
			continue
		}
		c.releaseAhead(e.Ref) // this run's own hold
		claim, err := c.ledger.claim(e.Ref)
		if err != nil || claim == nil {
			return err == nil, err
		}
		_ = claim.Close()
	}
	return false, nil
}

const heldElsewhere = "a run needs it"

// evict removes one image. If a run holds the image or the engine refuses, evict returns
// why.
func (c *Cache) evict(ctx context.Context, e Entry, dry bool) (why string, err error) {
	claim, err := c.ledger.claim(e.Ref)
	if err != nil {
		return "", err
	}
	if claim == nil {
		return heldElsewhere, nil
	}
	defer claim.Close()
	name, err := c.nameNow(ctx, e)
	if err != nil {
		return "", err
	}
	if name == "" {
		ids, err := c.engine.IDs(ctx)
		if err != nil {
			return "", err
		}
		if ids[e.ID] {
			why = "its name now refers to another image"
		} // otherwise the image was removed with its name, which images for several platforms share
		return why, c.forget(e.Ref, dry)
	}
	if dry {
		return "", nil
	}
	if err := c.engine.Remove(ctx, name); err != nil {
		if fault.KindOf(err) != fault.Instance {
			return "", err
		}
		c.o.Log.Info("could not evict an image", "image", e.Ref, "err", err)
		return err.Error(), nil
	}
	return "", c.forget(e.Ref, dry)
}

// nameNow returns the name by which an image of the ledger can be removed: its name, or its
// id if the name now refers to an image for another platform or to a newer one. It is empty
// if the image is gone, or if the user gave it other names.
func (c *Cache) nameNow(ctx context.Context, e Entry) (string, error) {
	img, here, err := c.engine.Image(ctx, e.Ref)
	if err != nil || here && img.ID == e.ID {
		return e.Ref, err
	}
	img, here, err = c.engine.Image(ctx, withID(e.Ref, e.ID))
	if err != nil || !here || img.Names > 0 {
		return "", err
	}
	return e.ID, nil
}

func (c *Cache) forget(ref string, dry bool) error {
	if dry {
		return nil
	}
	c.o.Gone(ref)
	return c.ledger.update(func(all map[string]Entry) { delete(all, ref) })
}

// view returns the current state for the choice of victims.
func (c *Cache) view(entries []Entry, used map[string]bool) view {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := view{entries: entries, used: used, held: map[string]bool{}, ahead: map[string]bool{}, next: c.plan.next()}
	for i, e := range entries {
		if at := c.needed[e.Ref]; at.After(e.Needed) {
			entries[i].Needed = at
		}
	}
	for ref := range c.held {
		v.held[nameOf(ref)] = true
	}
	for ref := range c.ahead {
		v.ahead[ref] = true
	}
	for _, n := range c.plan.ahead(c.o.Ahead) {
		v.ahead[n.Ref] = true
	}
	return v
}

// releaseAhead releases an image that was pulled ahead.
func (c *Cache) releaseAhead(ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for held, lock := range c.ahead {
		if nameOf(held) == nameOf(ref) {
			_ = lock.Close()
			delete(c.ahead, held)
		}
	}
}

// view is the state on which the choice of victims depends.
type view struct {
	entries []Entry         // the images of the ledger that the engine has
	used    map[string]bool // ids of images that containers use
	held    map[string]bool // names of images that instances of this run have now
	ahead   map[string]bool // refs that this run needs next
	next    map[string]int  // ref -> place in the plan at which the run needs it again
}

// victims returns the images that may be evicted, in the order in which to evict them.
// Force includes the images that the run needs next.
func (v view) victims(force bool) []Entry {
	var out []Entry
	for _, e := range v.entries {
		if !v.held[nameOf(e.Ref)] && !v.used[e.ID] && (force || !v.ahead[e.Ref]) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int {
		nextA, againA := v.next[a.Ref]
		nextB, againB := v.next[b.Ref]
		switch {
		case againA != againB && againA:
			return 1
		case againA != againB:
			return -1
		case againA && nextA != nextB:
			return cmp.Compare(nextB, nextA)
		}
		return cmp.Or(a.Needed.Compare(b.Needed), cmp.Compare(a.Ref, b.Ref))
	})
	return out
}

// size returns the bytes that the images use together. It counts shared layers once.
func size(entries []Entry) int64 {
	var sum int64
	seen := map[string]bool{}
	for _, e := range entries {
		if len(e.Layers) == 0 {
			sum += e.Size
		}
		for _, l := range e.Layers {
			if l.ID == "" || !seen[l.ID] {
				sum += l.Size
			}
			seen[l.ID] = true
		}
	}
	return sum
}
