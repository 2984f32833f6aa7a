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
// or a dataset wrote, except the ids of instances. A worker is Stalled if nothing has changed for longer
// than [StalledAfter], or if a wait has exceeded its Until by that; its Doing, cut after [MaxDoing] bytes,
// and its Reason are content.
type Status struct {
	Kind    string    `json:"kind"` // a Kind constant
	Dir     string    `json:"dir"`  // an absolute path
	PID     int       `json:"pid"`
	Started time.Time `json:"started"` // when this process began the work
	Now     time.Time `json:"now"`     // by the clock that made all times of the Status
	State   State     `json:"state"`
	Since   time.Time `json:"since"` // of the State

	Width   int            `json:"width"`             // instances that may run at the same time
	Running int            `json:"running"`           // instances that run
	Done    int            `json:"done"`              // instances with a result, earlier runs included
	Failed  int            `json:"failed"`            // instances that ended in this run without a result
	Kept    int            `json:"kept"`              // of Done: results that this process found
	Total   int            `json:"total"`             // instances, or attempts at instances in a sweep
	Cost    float64        `json:"cost"`              // US dollars of all answered calls, earlier runs included
	Held    float64        `json:"held"`              // US dollars that unanswered calls may have cost beside Cost
	Budget  float64        `json:"budget"`            // limit on Cost and Held, in US dollars; 0: none
	Workers []vocab.Worker `json:"workers"`           // stalled ones first, then the ones that changed longest ago
	Queued  []string       `json:"queued"`            // instances that have not begun, as ID or CELL/ID; nil: not asked for, with Content
	Cancels []string       `json:"canceled"`          // instances that were canceled and not requeued, as ID or CELL/ID
	Recent  []Record       `json:"recent"`            // the last commands, oldest first, 20 at most
	Cells   []string       `json:"cells,omitempty"`   // of a sweep, by name
	Verbs   []Verb         `json:"verbs"`             // that this work understands
	Content bool           `json:"content,omitempty"` // it has the texts that were asked for
}

// Limits of a [Status].
const (
	StalledAfter = 10 * time.Minute
	MaxDoing     = 2000
	maxRecent    = 20
)
