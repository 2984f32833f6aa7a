package session

import (
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/llm"
)

// Store keeps the records of one session, in order. Its messages, artifacts and state follow
// from them, so that an interrupted turn is resumed from its last record. [journal.Writer]
// implements it; a program that needs another store implements it too.
//
// A store is open in one process at a time. The program that opens it ensures this, appends
// the record that begins or resumes the attempt, and closes the store after the session.
// While the goroutine of a turn appends, another one may save an artifact; otherwise one
// goroutine at a time uses a store.
type Store interface {
	// Append adds a record, with data of the type that package journal has for it.
	Append(typ string, data any) error
	Flush() error // everything so far survives this process
	Sync() error  // everything so far is as durable as the store promises

	// HistoryHere returns the history in the records so far. The caller may change it.
	HistoryHere() (*journal.History, error)
}

// Query chooses messages. The zero value chooses all.
type Query struct {
	Last  int       // at most so many, the last ones; 0: all
	Since time.Time // only turns that began then or later; zero: all
}

// Message is a message of a session's conversation, the system message included.
type Message struct {
	llm.Message
	Turn int // in which it was appended, from 1
}

// Artifact is something that a session has made, such as a patch.
type Artifact struct {
	Name      string // unique in the session
	MediaType string // such as text/x-diff
	Data      []byte // exact
	Turn      int    // in which it was saved
	Saved     time.Time
}

// State describes a session.
type State struct {
	ContextID    string
	Status       Status
	Turns        int  // that have begun
	Retry        bool // the last turn failed or was interrupted: it can be tried again
	Created      time.Time
	LastActivity time.Time
	Error        string // of the last turn, if it failed
	Calls        int    // of the model
	Cost         float64
	Metadata     map[string]string
}

// Status is the status of a session.
type Status string

// The statuses of a session. If the last turn failed, it is ready, and State.Retry is true.
const (
	Created  Status = "created"
	Starting Status = "starting"
	Ready    Status = "ready"
	Busy     Status = "busy" // a turn runs
	Paused   Status = "paused"
	Shutdown Status = "shutdown"
)

// durably appends a record, and makes it durable with all before it.
func durably(s Store, typ string, data any) error {
	if err := s.Append(typ, data); err != nil {
		return err
	}
	return s.Sync()
}
