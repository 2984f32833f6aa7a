package vocab

import "time"

// EventType says what happened.
type EventType string

// The types of an [Event]. The events of a job (an instance, or a prediction that is graded) begin with its
// start; a retry repeats them from there.
const (
	EventRunStart      EventType = "run_start"
	EventInstanceStart EventType = "instance_start"
	EventPhase         EventType = "phase"          // the attempt does something else, or takes another step
	EventCallRetry     EventType = "call_retry"     // a model call failed and is made again after Wait
	EventInstanceRetry EventType = "instance_retry" // an attempt failed; the next begins after Wait
	EventInstanceEnd   EventType = "instance_end"   // the last attempt of this run ended
	EventGraded        EventType = "graded"         // a prediction was graded, beside the agents
	EventPull          EventType = "pull"
	EventMessage       EventType = "message"
	EventRunEnd        EventType = "run_end"
)

// PhasePaused is the phase of an attempt that waits for the end of a pause.
const PhasePaused = "paused"

// Event is something that happened in a run. A zero Time means now.
type Event struct {
	Time     time.Time
	Type     EventType
	Instance string
	Cell     string  // the sweep's cell in which the instance runs; empty: no sweep
	Attempt  int     // number of the attempt in this run, from 1
	Phase    string  // current work of the attempt
	Engine   string  // address of its engine; empty: unknown or not shown
	Doing    string  // the command that runs, or the name of a tool; a program must not act on it
	Step     int     // model calls of the attempt so far
	Cost     float64 // US dollars: of the attempt so far; of EventRunStart and EventRunEnd, of all runs into the directory
	Spent    float64 // US dollars of all answered calls into the directory so far; 0: unknown
	Status   Status
	Result   string // of other work than an attempt, in place of Status: a verdict, how a choice was made
	Outcome  Outcome
	Blame    string  // kind of the fault that ended the attempt
	Error    string  // why it ended, why a call failed, or why the run could not continue
	Text     string  // text of a message
	Urgent   bool    // the message is shown even without progress
	Verdict  Verdict // of EventGraded

	// For EventCallRetry and EventInstanceRetry.
	Try, Tries  int // number of the next try, and the maximum; 0: not known
	Wait        time.Duration
	RateLimited bool // the provider asked for the wait

	// For EventPull. Image is set if no instance waits for it.
	Image             string
	Bytes, BytesTotal int64
	Ended             bool // the pull has ended, successfully or not

	// For EventRunStart and EventRunEnd.
	Directory, Model, Dataset, Version string
	PID, Workers                       int
	Total                              int            // instances asked for
	Done                               int            // instances that have a result
	Outcomes                           map[string]int // how many instances have each; set at the end
	Elapsed                            time.Duration  // duration of this run
	Grading                            bool           // predictions are graded, no agent runs
	Lost                               int            // calls without an answer that may have been charged
	Held                               float64        // part of Cost: the possible cost of Lost calls
}

// Name returns the name of the instance, with its cell if there is one.
func (e Event) Name() string {
	if e.Cell == "" {
		return e.Instance
	}
	return e.Cell + "/" + e.Instance
}
