package imagecache

import (
	"context"
	"sync"
	"time"
)

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
