package docker

import (
	"bytes"
	"errors"
	"strconv"
)

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

// errEnded tells the copier that the command has ended: what else comes is
// the output of processes it left behind.
var errEnded = errors.New("the command has ended")

// codeDigits follow the end mark.
const codeDigits = 3

// ending is a writer that passes everything on to out until it meets mark and
// the exit code behind it.
type ending struct {
	mark []byte
	out  *capped
	held []byte // the last bytes, as long as they may be the beginning of the mark
	code int    // -1 until the mark was met
}

func (e *ending) Write(p []byte) (int, error) {
	if e.code >= 0 {
		return 0, errEnded
	}
	buf := append(e.held, p...)
	at := bytes.Index(buf, e.mark)
	if at >= 0 && len(buf) >= at+len(e.mark)+codeDigits {
		digits := buf[at+len(e.mark):][:codeDigits]
		if code, err := strconv.Atoi(string(digits)); err == nil {
			e.out.add(buf[:at])
			e.held, e.code = nil, code
			return len(p), errEnded
		}
		at = -1
	}
	keep := at
	if at < 0 {
		keep = max(0, len(buf)-len(e.mark)-codeDigits)
	}
	e.out.add(buf[:keep])
	e.held = append(e.held[:0], buf[keep:]...)
	return len(p), nil
}

// flush passes on what was held back, when the stream ends without the mark.
func (e *ending) flush() {
	e.out.add(e.held)
	e.held = nil
}
