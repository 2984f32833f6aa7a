package session

import (
	"encoding/json"
	"slices"
	"strconv"
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

// MessagesOf returns the messages that q chooses from the conversation in records.
func MessagesOf(h *journal.History, q Query) (list []Message, err error) {
	for i, raw := range slices.Concat(h.Messages, h.Later) {
		n := h.TurnOf(i)
		if n > 0 && h.Turns[n-1].Began.Before(q.Since) {
			continue
		}
		m, err := message(raw)
		if err != nil {
			return nil, err
		}
		list = append(list, Message{m, n})
	}
	if q.Last > 0 && len(list) > q.Last {
		list = list[len(list)-q.Last:]
	}
	return list, nil
}

// artifactsOf returns the artifacts in records, in the order in which they were last saved.
func artifactsOf(h *journal.History) (list []Artifact) {
	for _, a := range h.Artifacts {
		list = slices.DeleteFunc(list, func(old Artifact) bool { return old.Name == a.Name })
		list = append(list, Artifact{Name: a.Name, MediaType: a.MediaType, Data: a.Data, Turn: a.Turn, Saved: a.Saved})
	}
	return list
}

// StateOf returns the state of the session with a context id from its records; ok is false
// for a new one. A running turn looks the same as an interrupted one.
func StateOf(id string, h *journal.History) (st State, ok bool) {
	if h.Session == nil && len(h.Turns) == 0 {
		return State{}, false
	}
	st = State{ContextID: id, Status: Shutdown, Turns: len(h.Turns), Created: h.Started, LastActivity: h.Started}
	if d := h.Session; d != nil {
		st.Metadata = d.Metadata
		if d.Status != "" {
			st.Status = Status(d.Status)
		}
	}
	for _, step := range h.Steps {
		if step.Reply != nil {
			st.Calls++
			st.Cost += step.Reply.Cost
		}
	}
	for i := range h.Summaries {
		st.Cost += h.Summaries[i].Reply.Cost
	}
	t := h.Turn()
	if t == nil {
		return st, true
	}
	st.LastActivity, st.Retry = t.Began, t.Open()
	switch {
	case t.End != nil:
		if st.LastActivity = t.Ended; st.Retry {
			st.Error = t.End.Error
		}
	case st.Retry:
		st.Error = "turn " + strconv.Itoa(t.TurnData.Turn) + " was interrupted"
	}
	return st, true
}

// rawMessages returns messages as a trajectory stores them.
func rawMessages(messages []llm.Message) []json.RawMessage {
	list := make([]json.RawMessage, 0, len(messages))
	for _, m := range messages {
		list = append(list, rawMessage(m))
	}
	return list
}

func rawMessage(m llm.Message) json.RawMessage {
	raw, err := m.MarshalJSON() // json.Marshal would escape < and > in it
	if err != nil {
		// The provider's message is not an object: keep the parts that were understood.
		m.Chat = nil
		raw, _ = m.MarshalJSON()
	}
	return raw
}
