// Package progress shows a run to a person or a program while it works: a bar and a line
// for each running instance on a terminal, plain lines elsewhere, one JSON object per event
// for programs, or nothing.
//
// A run describes itself by [Event] values; a [Display] shows them. No display delays
// an agent because its reader is slow: events are taken into memory and written by a
// goroutine of the display, which Close waits for. Whatever a person sees during a run
// is an event, also what is logged (see [LogHandler]), so that nothing is written over
// the painted block. In an event's text (ids, errors) what a terminal would act on is
// shown as internal/printable does, so that it cannot move the cursor or change
// colors; JSON keeps it exact. [Schema] describes the JSON.
package progress

import (
	"time"

	"batch.example/batch/vocab"
)

// The types of an event. [Schema] says which members each has in JSON.
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

// Event is one thing that happened in a run. A zero Time means now.
type Event struct {
	Time     time.Time
	Type     string
	Instance string
	Cell     string  // of a sweep, in which the instance runs; empty: no sweep
	Attempt  int     // from 1, in this run
	Phase    string  // what the attempt does now
	Engine   string  // where it runs: the address of its engine; empty: not known or not named
	Step     int     // model calls of the attempt so far
	Cost     float64 // US dollars: of the attempt so far; of RunStart and RunEnd, of all runs into the directory
	Spent    float64 // US dollars of all answered calls into the directory so far; 0: not known; not in JSON
	Status   string  // exit status
	Outcome  string  // a [vocab.Outcome]
	Blame    string  // kind of the fault that ended the attempt
	Error    string  // why it ended, why a call failed, or why the run could not continue
	Text     string  // of a Message, for a person to read
	Urgent   bool    // of a Message: shown also where no progress is; not in JSON
	Verdict  string  // of Graded, a [vocab.Verdict]; with Grading, it is the Status

	// Of CallRetry and InstanceRetry.
	Try, Tries  int // the next try, and how many there may be in all
	Wait        time.Duration
	RateLimited bool // the provider asked for the wait

	// Of Pull: Image where no instance waits for it.
	Image             string
	Bytes, BytesTotal int64
	Ended             bool // the pull has ended, successfully or not

	// Of RunStart and RunEnd.
	Directory, Model, Dataset, Version string
	PID, Workers                       int
	Total                              int // instances asked for
	Done                               int // instances that have a result
	Outcomes                           map[string]int
	Elapsed                            time.Duration // of this run
	Grading                            bool          // predictions are graded, no agent runs
	Lost                               int           // calls that may have been charged although no answer is known
	Held                               float64       // of Cost, what they may have cost
}

// name names the instance to a person, with its cell where there is one.
func (e Event) name() string {
	if e.Cell == "" {
		return e.Instance
	}
	return e.Cell + "/" + e.Instance
}

// label names the ending that e reports: an exit status, or where predictions are graded
// a verdict.
func (e Event) label() string {
	return vocab.Verdict(vocab.Status(e.Status).Label(vocab.Outcome(e.Outcome))).String()
}

// Display shows the events of one run.
type Display interface {
	// Event takes one event. It is safe for concurrent use, costs little and
	// does not wait for the display's reader. After Close it does nothing.
	Event(e Event)

	// Close shows what is left to show, waits until it is written and returns
	// the first error that writing met. Later calls return the same.
	Close() error
}
