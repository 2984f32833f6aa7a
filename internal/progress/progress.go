// Package progress shows a run to a person or a program while it works: a bar and a line
// for each running instance on a terminal, plain lines elsewhere, one JSON object per event
// for programs, or nothing.
//
// A run describes itself by [vocab.Event] values, and a [Display] shows them. A slow reader of a display never
// delays an agent: events are kept in memory, and a goroutine of the display writes them, for which Close
// waits. Everything that a person sees during a run is an event, also log lines, so that
// no output overwrites the painted block. Control characters in an event's text (ids, errors) are shown as
// in internal/printable, so that it cannot move the cursor or change colors; JSON keeps the exact text.
// [Schema] describes the JSON.
package progress

import (
	"io"
	"sync"

	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

// label names the result in e: an exit status, or what other work than an attempt came to.
func label(e vocab.Event) string {
	if e.Result != "" {
		return vocab.Verdict(e.Result).String()
	}
	return e.Status.Label(e.Outcome)
}

// Display shows the events of one run.
type Display interface {
	// Event takes one event; [Schema] has the members of each type in JSON. It is safe for concurrent use and fast, and never waits for the display's
	// reader. After Close it does nothing.
	Event(e vocab.Event)

	// Close shows the rest, waits until it is written and returns the first error of writing. Later calls
	// return the same error.
	Close() error
}

// NewQuiet returns a display that writes only urgent messages to w.
func NewQuiet(w io.Writer) Display { return quiet{newQueue(w)} }

type quiet struct{ out *queue }

func (q quiet) Event(e vocab.Event) {
	if e.Urgent {
		q.out.put([]byte("batch: " + printable.Line(Notice(e)) + "\n"))
	}
}

func (q quiet) Close() error { return q.out.close() }

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
