// Package progress is what a person sees of a run while it goes on: a bar and
// a line per running instance on a terminal, plain lines elsewhere, one JSON
// object per event for programs, or nothing.
//
// A run describes itself by [Event] values; a [Display] shows them. No display
// holds an agent up because its reader is slow: events are taken into memory
// and written by a goroutine of the display's own, which Close waits for.
// In an event's text (ids, errors) what a terminal would act on is shown as
// internal/printable does, so that it cannot move the cursor or change colours;
// JSON keeps it exact.
package progress

import "time"

// The types of an event, and the fields that each one sets beside Time.
const (
	RunStart      = "run_start"      // Total: all asked for; Done: kept from earlier runs; Cost: spent by them
	InstanceStart = "instance_start" // Instance, Attempt
	InstancePhase = "phase"          // Instance, Phase, Step, Cost: of this attempt so far
	InstanceEnd   = "instance_end"   // Instance, Status, Outcome, Step, Cost: all since its InstanceStart; Error. Not done when Outcome is "pending"
	Pull          = "pull"           // Text: the image; Instance when one waits for it; Bytes, BytesTotal; Status PullDone at the end
	Message       = "message"        // Text: something a person should read
	RunEnd        = "run_end"        // Total, Cost: of the whole run, where known; Error when the run could not go on
)

// PullDone is the Status of a Pull event that ends a pull, well or not.
const PullDone = "done"

// Event is one thing that happened in a run. A zero Time means now. Costs are
// US dollars.
type Event struct {
	Time       time.Time `json:"time"`
	Type       string    `json:"type"`
	Instance   string    `json:"instance,omitempty"`
	Attempt    int       `json:"attempt,omitempty"`
	Phase      string    `json:"phase,omitempty"`
	Step       int       `json:"step,omitempty"`
	Cost       float64   `json:"cost,omitempty"`
	Status     string    `json:"status,omitempty"`
	Outcome    string    `json:"outcome,omitempty"`
	Error      string    `json:"error,omitempty"`
	Text       string    `json:"text,omitempty"`
	Done       int       `json:"done,omitempty"`
	Total      int       `json:"total,omitempty"`
	Bytes      int64     `json:"bytes,omitempty"`
	BytesTotal int64     `json:"bytes_total,omitempty"`
}

// Display shows the events of one run.
type Display interface {
	// Event takes one event. It is safe for concurrent use, costs little and
	// does not wait for whoever reads the display. After Close it does nothing.
	Event(e Event)

	// Close shows what is left to show, waits until it is written and returns
	// the first error that writing met. Later calls return the same.
	Close() error
}

// NewQuiet returns a display that shows nothing.
func NewQuiet() Display { return quiet{} }

type quiet struct{}

func (quiet) Event(Event)  {}
func (quiet) Close() error { return nil }
