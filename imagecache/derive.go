package imagecache

import (
	"context"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// Derived is an image that is made here of another one, and can be made again.
type Derived struct {
	Ref  string // a name for it, which says all that it depends on
	Of   string // what the other one is called: see [Ref]
	OfID string
}

// Derive returns d, which make makes where the engine does not have it, and holds it
// until release is called, which must happen once the container is gone. Of several
// callers, in other processes too, one makes it; it is evicted like a pulled image, and
// before the one that it is made of, which the caller must hold.
//
// There is none, and nothing to release, where make is nil or returns none, and where
// the disk or the budget has no room for it.
func (c *Cache) Derive(ctx context.Context, d Derived, make func(context.Context) (Image, error)) (img Image, release func(), err error) {
	hold, err := c.ledger.hold(ctx, d.Ref)
	if err != nil {
		return Image{}, nil, err
	}
	release = sync.OnceFunc(func() {
		c.mu.Lock()
		c.needed[d.Ref] = time.Now()
		c.mu.Unlock()
		_ = hold.Close()
	})
	img, here, err := c.engine.Image(ctx, d.Ref)
	made := err == nil && !here && make != nil
	if made {
		img, here, err = c.derive(ctx, d, make)
	}
	if err == nil && here {
		err = c.recordDerived(ctx, d, img)
	}
	fits := true
	if err == nil && here && made {
		fits, err = c.fits(ctx)
	}
	if err == nil && here && fits {
		return img, release, nil
	}
	release()
	if !fits {
		_, err = c.evict(context.WithoutCancel(ctx), Entry{Image: vocab.Image{Ref: d.Ref, ID: img.ID}, Of: d.Of}, false)
	}
	return Image{}, nil, err
}

// derive has d made when it is this caller's turn, unless somebody has made it meanwhile.
func (c *Cache) derive(ctx context.Context, d Derived, make func(context.Context) (Image, error)) (img Image, here bool, err error) {
	turn := flock.New(c.ledger.holdFile(d.Ref).Path()+".making", flock.SetPermissions(0o644))
	defer turn.Close()
	if _, err := turn.TryLockContext(ctx, lockPoll); err != nil {
		if ctx.Err() != nil {
			return Image{}, false, context.Cause(ctx)
		}
		return Image{}, false, fault.New(fault.Host, "making image "+d.Ref, err)
	}
	if img, here, err = c.engine.Image(ctx, d.Ref); err != nil || here {
		return img, here, err
	}
	if short, err := c.lack(ctx, d.Of, true, c.o.Reserve); err != nil || short != nil {
		return Image{}, false, err
	}
	img, err = make(ctx)
	return img, img.ID != "", err
}

// recordDerived enters d in the ledger, once for each process: it may be lost there.
func (c *Cache) recordDerived(ctx context.Context, d Derived, img Image) error {
	c.mu.Lock()
	known := c.derived[d.Ref] == img.ID
	c.derived[d.Ref] = img.ID
	c.mu.Unlock()
	if known {
		return nil
	}
	layers, err := c.engine.Layers(ctx, img.ID)
	if err != nil {
		c.o.Log.Warn("an image counts whole", "image", d.Ref, "err", err)
	}
	now := time.Now()
	e := Entry{Image: vocab.Image{Ref: d.Ref, ID: img.ID}, Size: img.Size, Layers: layers, Pulled: now, Needed: now, Of: d.Of, OfID: d.OfID}
	return c.ledger.update(func(all map[string]Entry) { all[d.Ref] = e })
}

// fits evicts until the budget holds, and reports whether it does.
func (c *Cache) fits(ctx context.Context) (bool, error) {
	if c.o.Budget <= 0 {
		return true, nil
	}
	if err := c.lockDoor(ctx); err != nil {
		return false, err
	}
	defer c.unlockDoor()
	for {
		entries, err := c.present(ctx)
		if err != nil || size(entries) <= c.o.Budget {
			return true, err
		}
		if freed, _, err := c.evictOne(ctx, false); err != nil || !freed {
			return false, err
		}
	}
}

// evictDerived removes what is made of the image with that id; or it says what it
// could not remove, and why.
func (c *Cache) evictDerived(ctx context.Context, id string, dry bool) (why string, err error) {
	entries, err := c.present(ctx)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.OfID != id {
			continue
		}
		if why, err = c.evict(ctx, e, dry); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// tidy removes what nobody can need: images made of one that is gone, and old notes.
func (c *Cache) tidy(ctx context.Context) {
	c.ledger.sweepNotes()
	entries, err := c.present(ctx)
	if err != nil {
		return
	}
	ids, err := c.engine.IDs(ctx)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.OfID == "" || ids[e.OfID] {
			continue
		}
		if why, err := c.evict(ctx, e, false); why != "" || err != nil {
			c.o.Log.Info("an image of one that is gone stays", "image", e.Ref, "why", why, "err", err)
		}
	}
}
