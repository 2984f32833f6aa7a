package session

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/llm"
)

// History is where the records of a session's attempt can be read.
type History func() (*journal.History, error)

// OnJournal returns a Store on an attempt's journal, whose records before are what read
// returns. Closing it closes nothing.
func OnJournal(contextID string, j Journal, read History) Store {
	return &onJournal{Journal: j, id: contextID, read: read}
}

// onJournal is a Store whose messages, artifacts and state are records of a journal.
type onJournal struct {
	Journal
	id    string
	read  History
	saved *journal.SessionData // the last; nil: not known
}

// History implements [Store].
func (s *onJournal) History(context.Context) (*journal.History, error) {
	h, err := s.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return h, err
}

// Save implements [Store].
func (s *onJournal) Save() error { return s.Sync() }

// Close implements [Store].
func (s *onJournal) Close() error { return s.Sync() }

// AppendMessages implements [MessageStore].
func (s *onJournal) AppendMessages(_ context.Context, _ int, messages []llm.Message) error {
	return s.Append(journal.TypeMessages, journal.MessagesData{Messages: rawMessages(messages)})
}

// Messages implements [MessageStore].
func (s *onJournal) Messages(ctx context.Context, q Query) ([]Message, error) {
	h, err := s.History(ctx)
	if err != nil || h == nil {
		return nil, err
	}
	var list []Message
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

// Clear implements [MessageStore].
func (s *onJournal) Clear(context.Context) error {
	return s.durable(journal.TypeClear, nil)
}

// SaveArtifact implements [ArtifactStore].
func (s *onJournal) SaveArtifact(_ context.Context, a Artifact) error {
	return s.durable(journal.TypeArtifact, journal.ArtifactData{Turn: a.Turn, Name: a.Name, MediaType: a.MediaType, Data: a.Data})
}

// Artifacts implements [ArtifactStore].
func (s *onJournal) Artifacts(ctx context.Context) ([]Artifact, error) {
	h, err := s.History(ctx)
	if err != nil || h == nil {
		return nil, err
	}
	return ArtifactsOf(h), nil
}

// ArtifactsOf returns the artifacts that an attempt's records say, as [ArtifactStore] does.
func ArtifactsOf(h *journal.History) (list []Artifact) {
	for _, a := range h.Artifacts {
		list = slices.DeleteFunc(list, func(old Artifact) bool { return old.Name == a.Name })
		list = append(list, Artifact{Name: a.Name, MediaType: a.MediaType, Data: a.Data, Turn: a.Turn, Saved: a.Saved})
	}
	return list
}

// SaveState implements [StateStore]. What follows from other records is not repeated.
func (s *onJournal) SaveState(_ context.Context, st State) error {
	d := journal.SessionData{Context: st.ContextID, Status: string(st.Status), Metadata: st.Metadata}
	if old := s.saved; old != nil && old.Context == d.Context && old.Status == d.Status && maps.Equal(old.Metadata, d.Metadata) {
		return s.Sync()
	}
	if err := s.durable(journal.TypeSession, d); err != nil {
		return err
	}
	s.saved = &d
	return nil
}

// State implements [StateStore].
func (s *onJournal) State(ctx context.Context) (State, bool, error) {
	h, err := s.History(ctx)
	if err != nil || h == nil || h.Session == nil && len(h.Turns) == 0 {
		return State{}, false, err
	}
	s.saved = h.Session
	return StateOf(s.id, h), true, nil
}

// StateOf returns the state that the records of the session with a context id say. Of a turn
// that runs they say the same as of one that was interrupted.
func StateOf(id string, h *journal.History) State {
	st := State{ContextID: id, Status: Shutdown, Turns: len(h.Turns), Created: h.Started, LastActivity: h.Started}
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
		return st
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
	return st
}

func (s *onJournal) durable(typ string, data any) error {
	if err := s.Append(typ, data); err != nil {
		return err
	}
	return s.Sync()
}

// turnTime is the time that a turn has worked, of an attempt that worked so long in all.
func turnTime(h *journal.History) time.Duration {
	if t := h.Turn(); t != nil {
		return max(0, h.Elapsed-t.Elapsed)
	}
	return h.Elapsed
}
