package images

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/docker/go-units"

	"batch.example/batch/fault"
)

// shortage describes missing disk space or budget.
type shortage struct {
	text  string
	guess bool // the space may be enough: the size of the image is known only after its pull
}

// admit waits until there is space for the lease. Pull means that its image must be pulled,
// and full that the disk was full at the last try.
func (c *Cache) admit(ctx context.Context, l *lease, pull, full bool) error {
	waiting := false
	defer func() {
		if waiting {
			c.mu.Lock()
			c.waiting--
			c.mu.Unlock()
		}
	}()
	for {
		changed := c.next()
		short, err := c.enter(ctx, l, pull, full)
		if err != nil || short == nil {
			return err
		}
		if !waiting {
			waiting = true
			c.mu.Lock()
			c.waiting++
			first := c.waiting == 1
			for _, end := range c.working {
				end()
			}
			c.mu.Unlock()
			if first {
				c.o.Notify("waiting for disk space: " + short.text)
			}
		}
		if wait(ctx, changed); ctx.Err() != nil {
			return context.Cause(ctx)
		}
		full = false
	}
}

// wait returns at a change, at the end of ctx, or after recheck: no event reports that
// another process freed disk space or released an image.
func wait(ctx context.Context, changed <-chan struct{}) {
	timer := time.NewTimer(recheck)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// enter admits the lease if there is space, and evicts images to make space. It returns the
// shortage if the lease must wait.
func (c *Cache) enter(ctx context.Context, l *lease, pull, full bool) (*shortage, error) {
	if err := c.lockSpace(ctx); err != nil {
		return nil, err
	}
	defer c.unlockSpace()
	for {
		short, err := c.findShortage(ctx, l.ref, pull, c.o.Reserve)
		if err != nil {
			return nil, err
		}
		if full && short == nil {
			short = &shortage{text: "the engine's disk was full"}
		}
		if short == nil {
			c.start(l, pull)
			return nil, nil
		}
		alone := c.alone(l.ref)
		freed, blocked, err := c.evictOne(ctx, alone)
		if err != nil {
			return nil, err
		}
		switch {
		case freed:
			full = false
		case !alone || blocked:
			return short, nil
		case short.guess:
			c.start(l, pull)
			return nil, nil
		default:
			return nil, noRoom(l.ref, &shortage{text: short.text + "; no instance is running and no image can be evicted"})
		}
	}
}

func noRoom(ref string, short *shortage) error {
	return fault.Newf(fault.Host, "not enough disk space for image %s: %s", ref, short.text).
		WithHint("free disk space where the engine keeps its data (docker system df shows what uses it), or raise --disk-budget;\n" +
			"then run the same command again to resume")
}

func (c *Cache) lockSpace(ctx context.Context) error {
	select {
	case c.space <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Cache) unlockSpace() { <-c.space }

// alone reports whether nothing will end and free disk space: no instance and no pull is
// running, and no image is held for later. A hold of ref itself does not count, because its
// holder lacks the same space.
func (c *Cache) alone(ref string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running == 0 && len(c.pulling) == 0 && (len(c.kept) == 0 || c.kept[ref] > 0)
}

func (c *Cache) start(l *lease, pull bool) {
	c.mu.Lock()
	l.admitted = true
	c.running++
	c.mu.Unlock()
	if pull {
		c.startPull(l.ref)
	}
}

// startPull counts a pull of ref as running, until [Cache.pull] ends it.
func (c *Cache) startPull(ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulling[ref]++
}

// findShortage returns the space that is missing for a pull of ref, or for one more
// container; nil if there is enough.
func (c *Cache) findShortage(ctx context.Context, ref string, pull bool, reserve int64) (*shortage, error) {
	c.mu.Lock()
	joins, pulls, growth := c.pulling[ref] > 0, int64(len(c.pulling)+1), c.growth
	c.mu.Unlock()
	if pull && joins {
		return nil, nil // there was space when that pull began
	}
	least := int64(minFree)
	if pull {
		least = reserve
	}
	free, known, err := c.engine.DiskFree(ctx)
	if err != nil {
		return nil, err
	}
	if known && free < least {
		return &shortage{text: fmt.Sprintf("%s free on the engine's disk, %s needed", bytes(free), bytes(least))}, nil
	}
	if !pull {
		return nil, nil
	}
	if known && free < least+pulls*growth {
		return &shortage{guess: true, text: fmt.Sprintf("%s free on the engine's disk, and an image takes about %s", bytes(free), bytes(growth))}, nil
	}
	if c.o.Budget <= 0 {
		return nil, nil
	}
	entries, err := c.present(ctx)
	if err != nil {
		return nil, err
	}
	used := size(entries)
	if n := int64(len(entries)); n > 0 && growth == 0 {
		growth = used / n
	}
	// While no size is known, only one pull runs at a time.
	if used+pulls*growth <= c.o.Budget && (growth > 0 || pulls == 1) {
		return nil, nil
	}
	return &shortage{
		guess: used <= c.o.Budget,
		text:  fmt.Sprintf("images take %s of the disk budget of %s", bytes(used), bytes(c.o.Budget)),
	}, nil
}

// present returns the ledger's images that the engine still has.
func (c *Cache) present(ctx context.Context) ([]Entry, error) {
	entries, err := c.ledger.Entries()
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	ids, err := c.engine.IDs(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e Entry) bool { return !ids[e.ID] }), nil
}

var errTooLarge = errors.New("the disk budget is too small")

// enforceBudget evicts images until the rest is within the budget again after a pull. It
// fails with errTooLarge if only the lease's image is left to evict.
func (c *Cache) enforceBudget(ctx context.Context, l *lease) error {
	if c.o.Budget <= 0 {
		return nil
	}
	if err := c.lockSpace(ctx); err != nil {
		return err
	}
	defer c.unlockSpace()
	for {
		entries, err := c.present(ctx)
		if err != nil || size(entries) <= c.o.Budget {
			return err
		}
		c.mu.Lock()
		alone := c.running == 1 && len(c.pulling) == 0 && len(c.kept) == 0
		c.mu.Unlock()
		freed, blocked, err := c.evictOne(ctx, alone)
		if err != nil {
			return err
		}
		if !freed && alone && !blocked {
			return fault.Newf(fault.Host, "image %s: %w: the images that batch pulled take %s with it, and no other can be evicted",
				l.ref, errTooLarge, bytes(size(entries))).WithHint("raise --disk-budget above %s", bytes(c.o.Budget))
		}
		if !freed {
			c.o.Log.Warn("the disk budget is exceeded until an instance ends", "image", l.ref, "bytes", size(entries))
			return nil
		}
	}
}

func values(all map[string]Entry) []Entry { return slices.Collect(maps.Values(all)) }

func bytes(n int64) string { return units.HumanSize(float64(n)) }
