package solver

import (
	"time"

	"batch.example/batch/results"
)

// stopwatch measures how an attempt's time is spent. It starts in the phase Start and
// counts for one phase at a time, so that the phases add up to the total. Only the
// attempt's goroutine uses it.
type stopwatch struct {
	now   func() time.Time
	begun time.Time
	since time.Time // start of the current phase
	phase *float64
	spent results.Phases
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

// read returns the time spent so far.
func (w *stopwatch) read() results.Phases {
	w.to(w.phase)
	p := w.spent
	p.Total = w.since.Sub(w.begun).Seconds()
	return p
}
