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
	ErrInUse      = errors.New("the session is open in another process")
	ErrNothing    = errors.New("there is nothing to say, and no turn to try again")
)

// Config describes a session. ContextID, Store and Loop are required.
type Config struct {
	ContextID string // identifies the session
	Store     Store  // owned by the session from Start on
	Loop      *agent.Loop
	Metadata  map[string]string // of a new session

	// Single makes the session that of a batch run's attempt: it has one turn, whose
	// beginning and end other records say. Such a turn has a Task instead of Words.
	Single bool

	// Compact keeps the conversation that is sent to the model short, as [agent.Turn]'s
	// Rewrite does; nil leaves it as it is. The store keeps all messages in any case.
	Compact func(ctx context.Context, c agent.Conversation) (*agent.Rewriting, error)

	// MaxMessages and MaxTokens are how long the conversation may be without a warning, which
	// is an [Event] with a Note, once in a turn; 0: any length. The tokens are estimated.
	MaxMessages int
	MaxTokens   int64

	Window int64 // the model's context in tokens; 0 if it is not known
	// Uncounted is that of [agent.Turn].
	Uncounted bool
	Model     string           // its name, for people
	Log       *slog.Logger     // nil discards
	Now       func() time.Time // nil: time.Now

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
	turn    *Turn // the running one
	unsure  bool  // a turn could not be begun: the store knows whether it has
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
func (s *Session) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turn != nil:
		return busy("starting")
	case s.state.Status == Shutdown:
		return s.notStarted("starting")
	case !s.loaded:
		if err := s.load(ctx); err != nil {
			return err
		}
	}
	return s.become(ctx, Ready)
}

// become stores the state with a status, which the session does not have if that fails.
// s.mu is held.
func (s *Session) become(ctx context.Context, as Status) error {
	was := s.state.Status
	s.state.Status = as
	err := s.saveState(ctx)
	if err != nil {
		s.state.Status = was
	}
	return err
}

func (s *Session) load(ctx context.Context) error {
	s.state.Status = Starting
	if s.c.Single {
		s.loaded = true
		return nil
	}
	known, ok, err := s.c.Store.State(ctx)
	if err != nil {
		s.state.Status, s.state.Error = Created, err.Error()
		return err
	}
	if ok {
		s.state = known
		s.state.ContextID = s.c.ContextID
	}
	s.loaded = true
	return nil
}

// saveState stores the state. s.mu is held.
func (s *Session) saveState(ctx context.Context) error {
	if s.c.Single {
		return nil
	}
	return s.c.Store.SaveState(context.WithoutCancel(ctx), s.state)
}

// Pause saves the session and keeps it in memory: no turn can begin until Start.
func (s *Session) Pause(ctx context.Context) error {
	return s.idle("pausing", func() error {
		if err := s.become(ctx, Paused); err != nil {
			return err
		}
		return s.c.Store.Save()
	})
}

// Shutdown saves the session and closes its store. One that was not started has nothing to
// save. A second Shutdown does nothing.
func (s *Session) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turn != nil:
		return busy("stopping")
	case s.state.Status == Shutdown:
		return nil
	}
	s.state.Status = Shutdown
	var err error
	if s.loaded {
		err = s.saveState(ctx)
	}
	return errors.Join(err, s.c.Store.Close()) // Close saves
}

// SetMetadata replaces the metadata of the session.
func (s *Session) SetMetadata(ctx context.Context, metadata map[string]string) error {
	return s.idle("changing the metadata", func() error {
		s.state.Metadata = maps.Clone(metadata)
		return s.saveState(ctx)
	})
}

// Messages returns the conversation, or the part that q chooses.
func (s *Session) Messages(ctx context.Context, q Query) (list []Message, err error) {
	err = s.idle("reading the messages", func() error {
		list, err = s.c.Store.Messages(ctx, q)
		return err
	})
	return list, err
}

// Artifacts returns what the session has made.
func (s *Session) Artifacts(ctx context.Context) (list []Artifact, err error) {
	err = s.idle("reading the artifacts", func() error {
		list, err = s.c.Store.Artifacts(ctx)
		return err
	})
	return list, err
}

// SaveArtifact keeps something that the session has made. Those who watch a running turn
// see it.
func (s *Session) SaveArtifact(ctx context.Context, name, mediaType string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started() {
		return s.notStarted("saving an artifact")
	}
	a := Artifact{Name: name, MediaType: mediaType, Data: slices.Clone(data), Turn: s.state.Turns, Saved: s.c.Now()}
	if err := s.c.Store.SaveArtifact(context.WithoutCancel(ctx), a); err != nil {
		return err
	}
	if s.turn != nil {
		s.turn.stream.send(false, Event{Kind: KindArtifact, Time: a.Saved, Turn: a.Turn, Artifact: &a})
	}
	return nil
}

// Save makes everything durable. It already is, unless the store was opened to save only
// when it is asked to.
func (s *Session) Save(ctx context.Context) error {
	return s.idle("saving", func() error {
		if err := s.saveState(ctx); err != nil {
			return err
		}
		return s.c.Store.Save()
	})
}

// Clear makes the session forget its conversation and its artifacts. The journal keeps
// them for its readers. The environment stays as it is.
func (s *Session) Clear(ctx context.Context) error {
	return s.idle("clearing", func() error {
		if err := s.c.Store.Clear(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		s.state.Retry, s.state.Error, s.state.LastActivity = false, "", s.c.Now()
		return s.saveState(ctx)
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

// notStarted is the error of what is not possible before Start, in a pause or after
// Shutdown. s.mu is held.
func (s *Session) notStarted(what string) error {
	if s.state.Status == Shutdown {
		return usage(what+": the session was shut down", ErrNotStarted).WithHint("open its store again")
	}
	return usage(what, ErrNotStarted).WithHint("call Start first")
}

func busy(what string) error { return usage(what, ErrBusy).WithHint("wait for its end, or cancel it") }

func usage(what string, err error) *fault.Error { return fault.New(fault.Usage, what, err) }

// endOf is how a turn ends whose run ended like this.
func endOf(end *agent.Ending, err error) journal.TurnEnd {
	if err != nil {
		return journal.TurnFailed
	}
	return journal.EndOf(end.Status)
}

// answer is what the model said last.
func answer(messages []llm.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.RoleAssistant {
			return m.Text()
		}
	}
	return ""
}
