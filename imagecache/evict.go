package imagecache

import (
	"context"

	"batch.example/batch/fault"
)

// Kept is an image that was not evicted although it would have been its turn.
type Kept struct {
	Entry
	Why string
}

// Evict removes images that batch pulled, whichever run it was, least recently
// needed first, until those that are left take at most keep bytes. It returns
// those that it removed, or would remove when dry is set, and those that could
// not go.
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
			kept = append(kept, Kept{e, "a container has it"})
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
		left = without(left, e.Ref)
	}
	return gone, kept, nil
}

func without(entries []Entry, ref string) []Entry {
	var out []Entry
	for _, e := range entries {
		if e.Ref != ref {
			out = append(out, e)
		}
	}
	return out
}

// evictOne removes the image whose turn it is. blocked reports that another
// run needs one that could have gone. It is called with the door held.
func (c *Cache) evictOne(ctx context.Context, desperate bool) (freed, blocked bool, err error) {
	entries, err := c.present(ctx)
	if err != nil || len(entries) == 0 {
		return false, false, err
	}
	used, err := c.engine.Used(ctx)
	if err != nil {
		return false, false, err
	}
	for _, e := range c.view(entries, used).victims(desperate) {
		c.letGo(e.Ref)
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
	return false, blocked, nil
}

const heldElsewhere = "a run needs it"

// evict removes one image unless a run holds it or the engine refuses; then it
// says why not.
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
			why = "its name means another image now"
		} // else it went with its name, which images for several platforms share
		return why, c.forget(e.Ref, dry)
	}
	if e.Of == "" {
		if why, err := c.evictDerived(ctx, e.ID, dry); why != "" || err != nil {
			return why, err
		}
	}
	if dry {
		return "", nil
	}
	if err := c.engine.Remove(ctx, name); err != nil {
		if fault.KindOf(err) != fault.Instance {
			return "", err
		}
		c.o.Log.Info("an image cannot be evicted", "image", e.Ref, "err", err)
		return err.Error(), nil
	}
	return "", c.forget(e.Ref, dry)
}

// nameNow returns by what an image of the ledger is removed: its name, or its
// id when a pull for another platform, or of a newer image, took the name. It is
// empty for one that is gone, or that has other names, which the user gave it.
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
	return c.ledger.update(func(all map[string]Entry) { delete(all, ref) })
}

// view is what the run knows now.
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
	for _, ref := range c.plan.ahead(c.o.Ahead) {
		v.ahead[ref] = true
	}
	return v
}

// letGo gives up the hold on an image pulled ahead.
func (c *Cache) letGo(ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for held, lock := range c.ahead {
		if nameOf(held) == nameOf(ref) {
			_ = lock.Close()
			delete(c.ahead, held)
		}
	}
}
