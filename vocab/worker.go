package vocab

import (
	"cmp"
	"time"
)

// Worker says where a running attempt at an instance, or the grading of a prediction, is now. It
// follows from the attempt's events.
type Worker struct {
	Cell     string    `json:"cell,omitempty"` // of a sweep
	Instance string    `json:"instance"`
	Attempt  int       `json:"attempt"` // from 1, in this process
	Started  time.Time `json:"started"` // of the attempt
	Phase    string    `json:"phase"`   // a fixed word, such as "model" or "commands"
	Since    time.Time `json:"since"`   // of the Phase, or of Waiting
	Step     int       `json:"step"`    // model calls so far
	Cost     float64   `json:"cost"`    // US dollars, this attempt
	Engine   string    `json:"engine,omitempty"`

	// Waiting is why the attempt does not work, and Until when it tries again; empty if it works.
	Waiting string     `json:"waiting,omitempty"` // "rate limit", "back-off", "retry", "paused" or "budget"
	Until   *time.Time `json:"until,omitempty"`   // nil: not known

	// Stalled says that nothing has changed for long. The events do not say it.
	Stalled bool `json:"stalled"`

	Doing  string `json:"doing,omitempty"`  // the command that runs, or the tool's name
	Reason string `json:"reason,omitempty"` // why the last call failed
}

// NewWorker returns the state of an attempt after its EventInstanceStart.
func NewWorker(e Event) Worker {
	return Worker{Cell: e.Cell, Instance: e.Instance, Attempt: e.Attempt, Started: e.Time, Since: e.Time}
}

// Apply changes w by an EventPhase, EventCallRetry or EventInstanceRetry of the attempt.
func (w *Worker) Apply(e Event) {
	w.Since, w.Waiting, w.Until = e.Time, "", nil
	switch {
	case e.Type == EventCallRetry && e.RateLimited:
		w.wait("rate limit", e)
	case e.Type == EventCallRetry:
		w.wait("back-off", e)
	case e.Type == EventInstanceRetry:
		w.wait("retry", e)
		w.Doing = ""
	case e.Phase == PhasePaused:
		w.Waiting = PhasePaused
	default:
		w.Phase, w.Doing, w.Reason = e.Phase, e.Doing, ""
	}
	w.Step, w.Cost, w.Engine = e.Step, e.Cost, cmp.Or(e.Engine, w.Engine)
}

func (w *Worker) wait(why string, e Event) {
	until := e.Time.Add(e.Wait)
	w.Waiting, w.Until, w.Reason = why, &until, e.Error
}
