package session

import (
	"context"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/llm"
)

// Journal receives the records of turns, in order. [journal.Writer] implements it.
type Journal interface {
	Append(typ string, data any) error
	Flush() error // everything so far survives this process
	Sync() error  // everything so far survives what the journal promises
}

// Store is where one session is kept. A store is open in one process at a time. While the
// goroutine of a turn appends to it, another one may save an artifact; otherwise it is used
// by one goroutine at a time.
//
// The messages of turns reach the [MessageStore] and all that happens within turns the
// [Journal], so that a turn that was interrupted is resumed from its last journalled event.
// [FileStore] implements it.
type Store interface {
	Journal
	MessageStore
	ArtifactStore
	StateStore

	// History returns what the journal holds; nil if that is nothing.
	History(ctx context.Context) (*journal.History, error)

	// Save makes everything durable that was recorded, also in a store that is not asked to
	// save by itself: in such a one, only Save and Close write.
	Save() error

	// Close saves, and lets other processes open the session.
	Close() error
}

// MessageStore keeps the conversation.
type MessageStore interface {
	AppendMessages(ctx context.Context, turn int, messages []llm.Message) error
	Messages(ctx context.Context, q Query) ([]Message, error)
	// Clear makes the store forget the conversation and the artifacts.
	Clear(ctx context.Context) error
}

// ArtifactStore keeps what a session has made.
type ArtifactStore interface {
	SaveArtifact(ctx context.Context, a Artifact) error // durable; replaces one with the same name
	Artifacts(ctx context.Context) ([]Artifact, error)  // in the order in which they were last saved
}

// StateStore keeps the state of a session between its turns.
type StateStore interface {
	SaveState(ctx context.Context, s State) error // durable
	// State returns what is known of the state; ok is false for a new session.
	State(ctx context.Context) (s State, ok bool, err error)
}

// Query chooses messages. The zero value chooses all.
type Query struct {
	Last  int       // at most so many, the last ones; 0: all
	Since time.Time // those of turns that began then or later; zero: all
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

// Status is where a session is in its life.
type Status string

// The statuses of a session. One whose last turn failed is ready, and State.Retry is true.
const (
	Created  Status = "created"
	Starting Status = "starting"
	Ready    Status = "ready"
	Busy     Status = "busy" // a turn runs
	Paused   Status = "paused"
	Shutdown Status = "shutdown"
)
