package main

// capped keeps the first and the last bytes of what is added to it, and counts all.
// It holds at most limit bytes and no more than about what was added.
type capped struct {
	limit int
	ask   func(begin []byte) (limit int) // called once, when limit is exceeded; may be nil
	kept  []byte                         // full, its part behind head is a ring
	next  int                            // where the ring is overwritten next, counted from head
	total uint64
}

// head is how many of the first bytes are kept.
func (c *capped) head() int { return c.limit - c.limit/2 }

func (c *capped) add(p []byte) {
	c.total += uint64(len(p))
	if c.ask != nil && c.total > uint64(c.limit) {
		n := c.limit - len(c.kept)
		c.kept = append(c.kept, p[:n]...)
		p = p[n:]
		c.limit = max(c.limit, c.ask(c.kept))
		c.ask = nil
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

// parts returns what is kept, in order.
func (c *capped) parts() [][]byte {
	head := min(c.head(), len(c.kept))
	ring := c.kept[head:]
	return [][]byte{c.kept[:head], ring[c.next:], ring[:c.next]}
}
