package imagecache

import (
	"context"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// Derived is an image that batch makes from a base image, and can make again.
type Derived struct {
	Ref  string // its name, which depends on everything that the image depends on
	Of   string // the base image's [Ref]
	OfID string // the base image's id
}

// Derive returns the image d, and holds it until release is called. The caller must hold
// the base image meanwhile, and must call release after the container was removed. If the
// engine does not have d, make makes it; only one of several callers does so, even in
// different processes. A derived image is evicted like a pulled one, and before its base
// image.
//
// Release is nil, and there is no image, if make is nil or returns no image, or if there
// is no space for it on the disk or in the budget.
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

// derive waits until no other caller makes d, and makes it unless it exists by then.
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
	if short, err := c.findShortage(ctx, d.Of, true, c.o.Reserve); err != nil || short != nil {
		return Image{}, false, err
	}
	img, err = make(ctx)
	return img, img.ID != "", err
}

// recordDerived enters d in the ledger. Each process does so once, even if the image
// existed before: the ledger may have lost it.
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
		c.o.Log.Warn("could not read the layers of an image; its full size is counted", "image", d.Ref, "err", err)
	}
	now := time.Now()
	e := Entry{Image: vocab.Image{Ref: d.Ref, ID: img.ID}, Size: img.Size, Layers: layers, Pulled: now, Needed: now, Of: d.Of, OfID: d.OfID}
	return c.ledger.update(func(all map[string]Entry) { all[d.Ref] = e })
}

// fits evicts images until the rest is within the budget, and reports whether it succeeded.
func (c *Cache) fits(ctx context.Context) (bool, error) {
	if c.o.Budget <= 0 {
		return true, nil
	}
	if err := c.lockSpace(ctx); err != nil {
		return false, err
	}
	defer c.unlockSpace()
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

// evictDerived removes the images that were made from the image with that id. If it could
// not remove one, it returns why.
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

// tidy removes what nobody can use: derived images whose base image is gone, and old notes.
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
			c.o.Log.Info("could not remove an image whose base image is gone", "image", e.Ref, "why", why, "err", err)
		}
	}
}
