package session

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
)

// Errors of a session that is used at the wrong time. They are in the chain of Usage faults.
var (
	ErrBusy       = errors.New("a turn of this session is running")
	ErrNotStarted = errors.New("the session is not started")
	ErrNothing    = errors.New("there is nothing to say, and no turn to try again")
	ErrSummarized = errors.New("the model wrote a summary in place of a part of this conversation, and batch continues no such conversation")
)

// Config describes a session. ContextID, Store and Loop are required.
type Config struct {
	ContextID string // identifies the session
	Store     Store  // where it is kept
	Loop      *agent.Loop
	Metadata  map[string]string // of a new session

	// A longer conversation causes an [agent.EventWarning], once in a turn; 0: any length. The
	// tokens are estimated.
	MaxMessages int
	MaxTokens   int64

	Model string           // its name, for people
	Log   *slog.Logger     // nil discards
	Now   func() time.Time // nil: time.Now

	// Saving measures the time spent on records: it is called before each, and the function
	// that it returns after it. Nil measures nothing.
	Saving func() (done func())
}

// Session is one conversation. Its methods are safe for concurrent use, but while a turn runs
// only [Session.State], [Session.SaveArtifact] and that turn's methods can be used.
type Session struct {
	c Config

	mu      sync.Mutex
	state   State
	loaded  bool
	closed  bool                 // ErrSummarized: no turn can begin
	saved   *journal.SessionData // the last in the store; nil: unknown
	turn    *Turn                // the running one
	unsure  bool                 // a turn failed to begin: only the store knows whether it did
	records recorder
}

// New returns a session that is not started yet.
func New(c Config) *Session {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Saving == nil {
		c.Saving = func() func() { return func() {} }
	}
	return &Session{
		c: c, state: State{ContextID: c.ContextID, Status: Created, Created: c.Now(), Metadata: maps.Clone(c.Metadata)},
		records: recorder{store: c.Store, log: c.Log, saving: c.Saving, model: c.Model, call: unlimited{}},
	}
}

// State returns the session's state.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Metadata = maps.Clone(st.Metadata)
	return st
}

// Start makes the session ready for turns. Except after a pause, it loads what was kept.
func (s *Session) Start(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turn != nil:
		return busy("starting")
	case s.state.Status == Shutdown:
		return s.notStarted("starting")
	case !s.loaded:
		if err := s.load(); err != nil {
			return err
		}
	}
	return s.become(Ready)
}

// become sets the status and stores the state. If that fails, the session keeps its status.
// s.mu is held.
func (s *Session) become(as Status) error {
	was := s.state.Status
	s.state.Status = as
	err := s.saveState()
	if err != nil {
		s.state.Status = was
	}
	return err
}

func (s *Session) load() error {
	s.state.Status = Starting
	h, err := s.c.Store.HistoryHere()
	if err != nil {
		s.state.Status, s.state.Error = Created, err.Error()
		return err
	}
	if known, ok := StateOf(s.c.ContextID, h); ok {
		s.state, s.saved = known, h.Session
	}
	s.loaded, s.closed = true, h.Summarized
	return nil
}

// saveState makes the state durable, without the parts that follow from other records. s.mu is
// held.
func (s *Session) saveState() error {
	d := journal.SessionData{Context: s.c.ContextID, Status: string(s.state.Status), Metadata: s.state.Metadata}
	if old := s.saved; old != nil && old.Context == d.Context && old.Status == d.Status && maps.Equal(old.Metadata, d.Metadata) {
		return s.c.Store.Sync()
	}
	if err := durably(s.c.Store, journal.TypeSession, d); err != nil {
		return err
	}
	s.saved = &d
	return nil
}

// Pause saves the session and keeps it in memory: no turn can begin until Start.
func (s *Session) Pause(context.Context) error {
	return s.idle("pausing", func() error { return s.become(Paused) })
}

// Shutdown saves the session, which then uses its store no more. One that was not started has
// nothing to save. A second Shutdown does nothing.
func (s *Session) Shutdown(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turn != nil:
		return busy("stopping")
	case s.state.Status == Shutdown:
		return nil
	}
	s.state.Status = Shutdown
	if !s.loaded {
		return nil
	}
	return s.saveState()
}

// SetMetadata replaces the metadata of the session.
func (s *Session) SetMetadata(_ context.Context, metadata map[string]string) error {
	return s.idle("changing the metadata", func() error {
		s.state.Metadata = maps.Clone(metadata)
		return s.saveState()
	})
}

// Messages returns the messages of the conversation that q chooses.
func (s *Session) Messages(_ context.Context, q Query) (list []Message, err error) {
	err = s.idle("reading the messages", func() error {
		h, err := s.c.Store.HistoryHere()
		if err == nil {
			list, err = MessagesOf(h, q)
		}
		return err
	})
	return list, err
}

// Artifacts returns the session's artifacts, in the order in which they were last saved.
func (s *Session) Artifacts(context.Context) (list []Artifact, err error) {
	err = s.idle("reading the artifacts", func() error {
		h, err := s.c.Store.HistoryHere()
		if err == nil {
			list = artifactsOf(h)
		}
		return err
	})
	return list, err
}

// SaveArtifact keeps something that the session has made, durably. It replaces an artifact
// of the same name.
func (s *Session) SaveArtifact(_ context.Context, name, mediaType string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started() {
		return s.notStarted("saving an artifact")
	}
	return durably(s.c.Store, journal.TypeArtifact, journal.ArtifactData{Turn: s.state.Turns, Name: name, MediaType: mediaType, Data: data})
}

// Save makes everything durable.
func (s *Session) Save(context.Context) error { return s.idle("saving", s.saveState) }

// Clear makes the session forget its conversation and its artifacts. The journal keeps
// them for its readers. The environment stays as it is.
func (s *Session) Clear(context.Context) error {
	return s.idle("clearing", func() error {
		if err := durably(s.c.Store, journal.TypeClear, nil); err != nil {
			return err
		}
		s.closed = false
		s.state.Retry, s.state.Error, s.state.LastActivity = false, "", s.c.Now()
		return s.saveState()
	})
}

// idle calls do while no turn runs.
func (s *Session) idle(what string, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turn != nil:
		return busy(what)
	case !s.started():
		return s.notStarted(what)
	}
	return do()
}

// started reports whether the store can be used. s.mu is held.
func (s *Session) started() bool { return s.loaded && s.state.Status != Shutdown }

// notStarted is the error of a method that needs a started session, before Start, in a pause
// or after Shutdown. s.mu is held.
func (s *Session) notStarted(what string) error {
	if s.state.Status == Shutdown {
		return usage(what+": the session was shut down", ErrNotStarted).WithHint("open its store again")
	}
	return usage(what, ErrNotStarted).WithHint("call Start first")
}

func busy(what string) error { return usage(what, ErrBusy).WithHint("wait for its end, or cancel it") }

func usage(what string, err error) *fault.Error { return fault.New(fault.Usage, what, err) }

// endOf returns how a turn ends after a run with this ending or error.
func endOf(end *agent.Ending, err error) journal.TurnEnd {
	if err != nil {
		return journal.TurnFailed
	}
	return journal.EndOf(end.Status)
}

// answer is the text of the model's last reply.
func answer(messages []llm.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.RoleAssistant {
			return m.Text()
		}
	}
	return ""
}
