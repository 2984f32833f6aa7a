package progress

import (
	"io"
	"sync"
)

// queue has a goroutine that writes the queued bytes in order.
type queue struct {
	w    io.Writer
	wake chan struct{}
	done chan struct{} // closed when the writer has ended

	mu     sync.Mutex
	buf    []byte
	closed bool
	err    error
}

func newQueue(w io.Writer) *queue {
	q := &queue{w: w, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.writeUntilClosed()
	return q
}

// put appends p. After close, or after an error of writing, it drops p.
func (q *queue) put(p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.err != nil {
		return
	}
	q.buf = append(q.buf, p...)
	q.poke()
}

// Write implements io.Writer with put.
func (q *queue) Write(p []byte) (int, error) {
	q.put(p)
	return len(p), nil
}

func (q *queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) writeUntilClosed() {
	defer close(q.done)
	for range q.wake {
		for {
			q.mu.Lock()
			p, closed := q.buf, q.closed
			q.buf = nil
			q.mu.Unlock()
			if len(p) == 0 && closed {
				return
			}
			if len(p) == 0 {
				break
			}
			if _, err := q.w.Write(p); err != nil {
				q.mu.Lock()
				q.err, q.buf = err, nil
				q.mu.Unlock()
			}
		}
	}
}

// close waits until everything is written and returns the first error.
func (q *queue) close() error {
	q.mu.Lock()
	q.closed = true
	q.poke()
	q.mu.Unlock()
	<-q.done
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}
