package control

import (
	"time"

	"batch.example/batch/vocab"
)

// State is the state of the work as a whole.
type State string

// The states of work.
const (
	Running  State = "running"
	Paused   State = "paused"   // no instance begins, and no attempt makes a paid call
	Draining State = "draining" // no instance begins any more, the running ones end
	Stopping State = "stopping" // the running attempts are being saved, and continue later
)

// The kinds of work.
const (
	KindRun   = "run"
	KindSweep = "sweep"
	KindGrade = "grade"
)

// Status is the state of work in a directory. Without content, it has no text that an agent, a model
// or a dataset wrote, except the ids of instances.
type Status struct {
	Kind    string    `json:"kind"` // a Kind constant
	Dir     string    `json:"dir"`  // an absolute path
	PID     int       `json:"pid"`
	Started time.Time `json:"started"` // when this process began the work
	Now     time.Time `json:"now"`     // by the clock that made all times of the Status
	State   State     `json:"state"`
	Since   time.Time `json:"since"` // of the State

	Width   int      `json:"width"`             // instances that may run at the same time
	Running int      `json:"running"`           // instances that run
	Done    int      `json:"done"`              // instances with a result, earlier runs included
	Failed  int      `json:"failed"`            // instances that ended in this run without a result
	Total   int      `json:"total"`             // instances, or attempts at instances in a sweep
	Cost    float64  `json:"cost"`              // US dollars of all answered calls, earlier runs included
	Held    float64  `json:"held"`              // US dollars that unanswered calls may have cost beside Cost
	Budget  float64  `json:"budget"`            // limit on Cost and Held, in US dollars; 0: none
	Workers []Worker `json:"workers"`           // stalled ones first, then the ones that changed longest ago
	Cancels []string `json:"canceled"`          // instances that were canceled and not requeued, as ID or CELL/ID
	Recent  []Record `json:"recent"`            // the last commands, oldest first, 20 at most
	Cells   []string `json:"cells,omitempty"`   // of a sweep, by name
	Verbs   []Verb   `json:"verbs"`             // that this work understands
	Content bool     `json:"content,omitempty"` // it has the texts that were asked for
}

// Worker is a running attempt at an instance, or the grading of a prediction. It is Stalled if nothing
// has changed for longer than [StalledAfter], or if a wait has exceeded its Until by that. Doing, cut
// after [MaxDoing] bytes, and Reason are content.
type Worker = vocab.Worker

// Limits of a [Status].
const (
	StalledAfter = 10 * time.Minute
	MaxDoing     = 2000
	maxRecent    = 20
)

// Verb says which change a [Command] asks for.
type Verb string

// The verbs. Which fields of a Command each needs is beside it.
const (
	SetWidth  Verb = "width"   // Width
	Pause     Verb = "pause"   // no instance begins, and attempts wait before their next paid call
	Resume    Verb = "resume"  // ends Pause
	Drain     Verb = "drain"   // no instance begins any more in this process
	Stop      Verb = "stop"    // ends the work: attempts are saved, and continue later
	Cancel    Verb = "cancel"  // Instance: its attempt ends now, and it does not run again until Requeue
	Requeue   Verb = "requeue" // Instance: it runs again
	SetBudget Verb = "budget"  // Budget, Add
	SetLimit  Verb = "limit"   // Limit, and Instance or all: limits of attempts
	Say       Verb = "say"     // Instance, Text: a person's message before the next call
)

// Command is a request to change work.
type Command struct {
	ID       string  `json:"id"`                 // names the command; [NewID] makes one. The same id again is the same command
	Verb     Verb    `json:"verb"`               //
	Instance string  `json:"instance,omitempty"` // ID, or CELL/ID in a sweep
	Width    int     `json:"width,omitempty"`    // at least 1
	Budget   float64 `json:"budget,omitempty"`   // US dollars; without Add, 0 is no limit
	Add      bool    `json:"add,omitempty"`      // Budget is added to the limit
	Limit    Limit   `json:"limit,omitempty"`    //
	Text     string  `json:"text,omitempty"`     // at most [MaxText] bytes of UTF-8
	Program  string  `json:"program,omitempty"`  // that sends it, such as "batch ctl"
}

// MaxText is the length of the longest Text of a [Command], in bytes.
const MaxText = 64 << 10

// Limit has limits of attempts by the names of [vocab.LimitKinds]: steps, cost and seconds. A limit that is
// not in it stays as it is, and 0 is no limit.
type Limit map[string]float64

// Reply is the answer to a [Command] that was carried out.
type Reply struct {
	Record

	// Repeated says that the command had been carried out before.
	Repeated bool `json:"repeated,omitempty"`

	// Effect says in a sentence what the command does. It has fixed words, ids and numbers.
	Effect string `json:"effect"`
}

// Record is a [Command] in control.jsonl, with who gave it and when.
type Record struct {
	Command
	Seq  int64     `json:"seq"` // in control.jsonl, from 1
	Time time.Time `json:"time"`
	UID  int       `json:"uid"`
	User string    `json:"user,omitempty"` // the name of UID, if it is known
	PID  int       `json:"sender_pid"`     // of the program that sent it; 0: not known
}
