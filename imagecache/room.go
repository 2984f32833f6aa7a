package imagecache

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

// lack says what there is too little of.
type lack struct {
	text  string
	guess bool // it only may be too little: how large the image is shows when it is there
}

// admit lets the lease in as soon as there is room. pull says that its image
// must be pulled, full that the disk was full when that was tried last.
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
			c.mu.Unlock()
			if first {
				c.o.Notify("waiting for room: " + short.text)
			}
		}
		if wait(ctx, changed); ctx.Err() != nil {
			return context.Cause(ctx)
		}
		full = false
	}
}

// wait returns at a change, at the end of ctx, and now and then: another
// process tells nobody that it freed disk or let go of an image.
func wait(ctx context.Context, changed <-chan struct{}) {
	timer := time.NewTimer(recheck)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// enter lets the lease in when there is room, evicting for it. What it returns
// is what is lacking while there is something to wait for.
func (c *Cache) enter(ctx context.Context, l *lease, pull, full bool) (*lack, error) {
	if err := c.lockDoor(ctx); err != nil {
		return nil, err
	}
	defer c.unlockDoor()
	for {
		short, err := c.lack(ctx, l.ref, pull, c.o.Reserve)
		if err != nil {
			return nil, err
		}
		if full && short == nil {
			short = &lack{text: "the engine's disk was full"}
		}
		if short == nil {
			c.letIn(l, pull)
			return nil, nil
		}
		alone := c.alone()
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
			c.letIn(l, pull)
			return nil, nil
		default:
			return nil, noRoom(l.ref, &lack{text: short.text + ", nothing runs and nothing can be evicted"})
		}
	}
}

func noRoom(ref string, short *lack) error {
	return fault.Newf(fault.Host, "no room for image %s: %s", ref, short.text).
		WithHint("free space where the engine keeps its data (docker system df shows what uses it), or raise --disk-budget;\n" +
			"the same command goes on from here")
}

func (c *Cache) lockDoor(ctx context.Context) error {
	select {
	case c.door <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Cache) unlockDoor() { <-c.door }

// alone reports whether nothing is under way that may end and leave room.
func (c *Cache) alone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running == 0 && len(c.flights) == 0
}

func (c *Cache) letIn(l *lease, pull bool) {
	c.mu.Lock()
	l.in = true
	c.running++
	c.mu.Unlock()
	if pull {
		c.fly(l.ref)
	}
}

// fly counts a pull of ref as under way, until [Cache.pull] ends it.
func (c *Cache) fly(ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flights[ref]++
}

// lack looks whether there is room for the pull of ref, or for one more
// container; nil when there is.
func (c *Cache) lack(ctx context.Context, ref string, pull bool, reserve int64) (*lack, error) {
	c.mu.Lock()
	joins, pulls, growth := c.flights[ref] > 0, int64(len(c.flights)+1), c.growth
	c.mu.Unlock()
	if pull && joins {
		return nil, nil // there was room when that pull began
	}
	least := int64(floor)
	if pull {
		least = reserve
	}
	free, known, err := c.engine.DiskFree(ctx)
	if err != nil {
		return nil, err
	}
	if known && free < least {
		return &lack{text: fmt.Sprintf("%s free on the engine's disk, %s needed", bytes(free), bytes(least))}, nil
	}
	if !pull {
		return nil, nil
	}
	if known && free < least+pulls*growth {
		return &lack{guess: true, text: fmt.Sprintf("%s free on the engine's disk, and images take about %s", bytes(free), bytes(growth))}, nil
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
	// While nothing at all is known of sizes, the first pull goes alone.
	if used+pulls*growth <= c.o.Budget && (growth > 0 || pulls == 1) {
		return nil, nil
	}
	return &lack{
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

// keepBudget evicts until the budget holds again after a pull. It fails with
// errTooLarge when nothing but the lease's image is left to evict.
func (c *Cache) keepBudget(ctx context.Context, l *lease) error {
	if c.o.Budget <= 0 {
		return nil
	}
	if err := c.lockDoor(ctx); err != nil {
		return err
	}
	defer c.unlockDoor()
	for {
		entries, err := c.present(ctx)
		if err != nil || size(entries) <= c.o.Budget {
			return err
		}
		c.mu.Lock()
		alone := c.running == 1 && len(c.flights) == 0
		c.mu.Unlock()
		freed, blocked, err := c.evictOne(ctx, alone)
		if err != nil {
			return err
		}
		if !freed && alone && !blocked {
			return fault.Newf(fault.Host, "image %s: %w: with it the images that batch pulled take %s, and no other can go",
				l.ref, errTooLarge, bytes(size(entries))).WithHint("raise --disk-budget above %s", bytes(c.o.Budget))
		}
		if !freed {
			c.o.Log.Warn("the disk budget is passed until an instance ends", "image", l.ref, "bytes", size(entries))
			return nil
		}
	}
}

func values(all map[string]Entry) []Entry { return slices.Collect(maps.Values(all)) }

func bytes(n int64) string { return units.HumanSize(float64(n)) }
