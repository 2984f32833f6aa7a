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

import "batch.example/batch/vocab"

// label names the result in e: an exit status, or a verdict if predictions are graded.
func label(e vocab.Event) string {
	return vocab.Verdict(e.Status.Label(e.Outcome)).String()
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
