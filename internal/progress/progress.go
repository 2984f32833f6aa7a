// Package progress shows a run to a person or a program while it works: a bar and a line
// for each running instance on a terminal, plain lines elsewhere, one JSON object per event
// for programs, or nothing.
//
// A run describes itself by [Event] values, and a [Display] shows them. A slow reader of a display never
// delays an agent: events are kept in memory, and a goroutine of the display writes them, for which Close
// waits. Everything that a person sees during a run is an event, also log lines (see [LogHandler]), so that
// no output overwrites the painted block. Control characters in an event's text (ids, errors) are shown as
// in internal/printable, so that it cannot move the cursor or change colors; JSON keeps the exact text.
// [Schema] describes the JSON.
package progress

import (
	"io"
	"sync"
	"time"

	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

// The types of an event. [Schema] lists the members of each in JSON.
const (
	RunStart      = "run_start"
	InstanceStart = "instance_start"
	InstancePhase = "phase"
	CallRetry     = "call_retry"     // a model call failed and is made again after Wait
	InstanceRetry = "instance_retry" // an attempt failed; the next begins after Wait
	InstanceEnd   = "instance_end"
	Graded        = "graded" // a prediction was graded, beside the agents
	Pull          = "pull"
	Message       = "message"
	RunEnd        = "run_end"
)

// Event is something that happened in a run. A zero Time means now.
type Event struct {
	Time     time.Time
	Type     string
	Instance string
	Cell     string  // the sweep's cell in which the instance runs; empty: no sweep
	Attempt  int     // number of the attempt in this run, from 1
	Phase    string  // current work of the attempt
	Engine   string  // address of its engine; empty: unknown or not shown
	Step     int     // model calls of the attempt so far
	Cost     float64 // US dollars: of the attempt so far; of RunStart and RunEnd, of all runs into the directory
	Spent    float64 // US dollars of all answered calls into the directory so far; 0: unknown; not in JSON
	Status   string  // exit status
	Outcome  string  // a [vocab.Outcome]
	Blame    string  // kind of the fault that ended the attempt
	Error    string  // why it ended, why a call failed, or why the run could not continue
	Text     string  // text of a Message
	Urgent   bool    // the Message is shown even without progress; not in JSON
	Verdict  string  // of Graded, a [vocab.Verdict]; with Grading, Status has it

	// For CallRetry and InstanceRetry.
	Try, Tries  int // number of the next try, and the maximum
	Wait        time.Duration
	RateLimited bool // the provider asked for the wait

	// For Pull. Image is set if no instance waits for it.
	Image             string
	Bytes, BytesTotal int64
	Ended             bool // the pull has ended, successfully or not

	// For RunStart and RunEnd.
	Directory, Model, Dataset, Version string
	PID, Workers                       int
	Total                              int // instances asked for
	Done                               int // instances that have a result
	Outcomes                           map[string]int
	Elapsed                            time.Duration // duration of this run
	Grading                            bool          // predictions are graded, no agent runs
	Lost                               int           // calls without an answer that may have been charged
	Held                               float64       // part of Cost: the possible cost of Lost calls
}

// name returns the name of the instance for a person, with its cell if there is one.
func (e Event) name() string {
	if e.Cell == "" {
		return e.Instance
	}
	return e.Cell + "/" + e.Instance
}

// label names the result in e: an exit status, or a verdict if predictions are graded.
func (e Event) label() string {
	return vocab.Verdict(vocab.Status(e.Status).Label(vocab.Outcome(e.Outcome))).String()
}

// Display shows the events of one run.
type Display interface {
	// Event takes one event. It is safe for concurrent use and fast, and never waits for the display's
	// reader. After Close it does nothing.
	Event(e Event)

	// Close shows the rest, waits until it is written and returns the first error of writing. Later calls
	// return the same error.
	Close() error
}

// NewQuiet returns a display that writes only urgent messages to w.
func NewQuiet(w io.Writer) Display { return quiet{newQueue(w)} }

type quiet struct{ out *queue }

func (q quiet) Event(e Event) {
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
