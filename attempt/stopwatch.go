package attempt

import (
	"sync"
	"time"

	"batch.example/batch/results"
)

// stopwatch measures how an attempt's time is spent. It starts in the phase Start and
// counts for one phase at a time, so that the phases add up to the total. It is used by
// the attempt's goroutine and, with together, by goroutines that it waits for.
type stopwatch struct {
	now   func() time.Time
	begun time.Time
	since time.Time // start of the current phase
	phase *float64
	spent results.Phases

	person float64 // seconds in which the attempt waited for a person, a pause or money: not of its time

	mu     sync.Mutex
	inside int    // callers of together
	leave  func() // ends their phase
}

func newStopwatch(now func() time.Time) *stopwatch {
	w := &stopwatch{now: now, begun: now()}
	w.since, w.phase = w.begun, &w.spent.Start
	return w
}

// to switches to a phase, and returns the phase before.
func (w *stopwatch) to(phase *float64) (before *float64) {
	now := w.now()
	*w.phase += now.Sub(w.since).Seconds()
	before, w.since, w.phase = w.phase, now, phase
	return before
}

// during switches to a phase until the returned function is called.
func (w *stopwatch) during(phase *float64) func() {
	before := w.to(phase)
	return func() { w.to(before) }
}

// together is during for several goroutines: the phase lasts from the first one's beginning
// to the last one's end.
func (w *stopwatch) together(phase *float64) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inside++; w.inside == 1 {
		w.leave = w.during(phase)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.inside--; w.inside == 0 {
			w.leave()
		}
	}
}

// read returns the time spent so far.
func (w *stopwatch) read() results.Phases {
	w.to(w.phase)
	p := w.spent
	p.Total = w.since.Sub(w.begun).Seconds() - w.person
	return p
}
