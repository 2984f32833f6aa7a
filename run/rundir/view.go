package rundir

import (
	"time"

	"batch.example/batch/vocab"
)

// View shows a job while it works. It is safe for concurrent use.
type View struct {
	show func(vocab.Event)
	cell string // of a sweep; empty: none
}

// NewView returns a View that calls show with each event, from many goroutines at once. Nil shows
// nothing.
func NewView(show func(vocab.Event)) View { return View{show: show} }

// Event shows an event. The beginning and the end of a cell are left out, since the sweep has its own.
func (v View) Event(e vocab.Event) {
	switch {
	case v.show == nil, v.cell != "" && (e.Type == vocab.EventRunStart || e.Type == vocab.EventRunEnd):
		return
	case v.cell != "" && e.Instance != "":
		e.Cell = v.cell
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	v.show(e)
}

// Say shows a line.
func (v View) Say(text string) {
	if v.cell != "" {
		text = v.cell + ": " + text
	}
	v.Event(vocab.Event{Type: vocab.EventMessage, Text: text})
}

// Cell returns the view of one cell of a sweep, by its name.
func (v View) Cell(name string) View {
	v.cell = name
	return v
}

// PatchProgress returns the progress of work on patches: done of all have a result that counts,
// and the work on the others has ended without one.
func PatchProgress(done, all int) vocab.Event {
	outcomes := map[string]int{}
	for outcome, n := range map[vocab.Outcome]int{vocab.OutcomeSubmitted: done, vocab.OutcomeInfrastructure: all - done} {
		if n > 0 {
			outcomes[string(outcome)] = n
		}
	}
	return vocab.Event{Done: done, Total: all, Outcomes: outcomes}
}
