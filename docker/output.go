package docker

import "slices"

// MaxOutput is how much of a command's output is kept at most, in bytes.
const MaxOutput = 10 << 20

// capped keeps the first and the last bytes of what is written to it, and
// counts all of it. It holds at most limit bytes and no more than about what was
// written.
type capped struct {
	limit  int
	longer func(begin []byte) bool // whether limit is to be MaxOutput; asked once, when limit is passed
	kept   []byte                  // full, its part behind head is a ring
	next   int                     // where the ring is overwritten next, counted from head
	total  int64
}

func newCapped(limit int64, longer func(begin []byte) bool) *capped {
	if limit <= 0 {
		limit = MaxOutput
	}
	return &capped{limit: int(limit), longer: longer}
}

// head is how many of the first bytes are kept.
func (c *capped) head() int { return c.limit - c.limit/2 }

func (c *capped) add(p []byte) {
	c.total += int64(len(p))
	if c.longer != nil && c.total > int64(c.limit) {
		n := c.limit - len(c.kept)
		c.kept = append(c.kept, p[:n]...)
		p = p[n:]
		if c.longer(c.kept) {
			c.limit = MaxOutput
		}
		c.longer = nil
	}
	n := min(c.limit-len(c.kept), len(p))
	c.kept = append(c.kept, p[:n]...)
	ring := c.kept[min(c.head(), len(c.kept)):]
	if p = p[n:]; len(p) > len(ring) {
		p = p[len(p)-len(ring):]
	}
	for ; len(p) > 0; p = p[n:] {
		n = copy(ring[c.next:], p)
		c.next = (c.next + n) % len(ring)
	}
}

// bytes returns what is kept, which is the caller's; nothing may be added then.
func (c *capped) bytes() []byte {
	if c.next > 0 { // turn the ring so that its oldest byte comes first, in place
		ring := c.kept[c.head():]
		slices.Reverse(ring[:c.next])
		slices.Reverse(ring[c.next:])
		slices.Reverse(ring)
		c.next = 0
	}
	return c.kept
}
