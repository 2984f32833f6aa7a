package docker

// defaultLimit is how much of a command's output is kept.
const defaultLimit = 10 << 20

// capped keeps the first and the last bytes of what is written to it, and
// counts all of it. It holds at most about limit bytes and no more than was
// written.
type capped struct {
	headCap, tailCap int
	head, tail       []byte
	next             int // where the tail, once full, is overwritten
	total            int64
}

func newCapped(limit int64) *capped {
	if limit <= 0 {
		limit = defaultLimit
	}
	return &capped{headCap: int(limit - limit/2), tailCap: int(limit / 2)}
}

func (c *capped) add(p []byte) {
	c.total += int64(len(p))
	n := min(c.headCap-len(c.head), len(p))
	c.head = append(c.head, p[:n]...)
	p = p[n:]
	if len(p) > c.tailCap {
		p = p[len(p)-c.tailCap:]
		c.tail, c.next = c.tail[:0], 0
	}
	n = min(c.tailCap-len(c.tail), len(p))
	c.tail = append(c.tail, p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		n = copy(c.tail[c.next:], p)
		c.next = (c.next + n) % c.tailCap
	}
}

func (c *capped) bytes() []byte {
	out := make([]byte, 0, len(c.head)+len(c.tail))
	out = append(out, c.head...)
	out = append(out, c.tail[c.next:]...)
	return append(out, c.tail[:c.next]...)
}
