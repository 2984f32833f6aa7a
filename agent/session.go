package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// Status is where a session stands in its life.
type Status string

// A session is created, started, ready between turns, busy in one, paused or
// shut down. Start leads back to ready from paused and shut down.
const (
	StatusCreated  Status = "created"
	StatusStarting Status = "starting"
	StatusReady    Status = "ready"
	StatusBusy     Status = "busy"
	StatusPaused   Status = "paused"
	StatusShutdown Status = "shutdown"
)

// State is what is known of a session beside its messages.
type State struct {
	Status       Status    `json:"status"`
	Task         string    `json:"task"` // of the first turn
	Turns        int       `json:"turns"`
	Calls        int       `json:"calls"` // over all turns
	Cost         float64   `json:"cost"`  // US dollars, over all turns
	Created      time.Time `json:"created"`
	LastActivity time.Time `json:"last_activity"`
	Error        string    `json:"error,omitempty"` // of the last turn; empty when it ended well
}

// Session is one agent over several turns: it owns history, artifacts and
// lifecycle, the Loop does the work. Its methods are safe for concurrent use;
// one turn runs at a time.
type Session struct {
	id   string
	loop *Loop

	messageStore  MessageStore
	artifactStore ArtifactStore
	stateStore    StateStore

	mu        sync.Mutex
	state     State
	messages  []llm.Message
	artifacts []Artifact
	said      []string           // by Interrupt, not yet heard
	cancel    context.CancelFunc // of the turn that runs
	idle      chan struct{}      // closed when it ended
}

// Stores is where a Session keeps itself. A nil store is a Memory of its own.
type Stores struct {
	Messages  MessageStore
	Artifacts ArtifactStore
	State     StateStore
}

// NewSession returns a session that is created and not started. Sessions with
// the same id and stores are the same conversation, one process after another.
func NewSession(id string, loop *Loop, s Stores) *Session {
	var memory Memory
	if s.Messages == nil {
		s.Messages = &memory
	}
	if s.Artifacts == nil {
		s.Artifacts = &memory
	}
	if s.State == nil {
		s.State = &memory
	}
	now := loop.config.Now()
	return &Session{
		id: id, loop: loop, messageStore: s.Messages, artifactStore: s.Artifacts, stateStore: s.State,
		state: State{Status: StatusCreated, Created: now, LastActivity: now},
	}
}

// ID is the session's context id.
func (s *Session) ID() string { return s.id }

// State returns where the session stands.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Messages returns the conversation so far, exit messages included; that of a
// running turn is added when it ends.
func (s *Session) Messages() []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Artifacts returns what the turns produced.
func (s *Session) Artifacts() []Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.artifacts)
}

// Start makes the session ready. From created and shut down it loads what the
// stores hold; a paused session goes on as it is.
func (s *Session) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state.Status {
	case StatusReady:
		return nil
	case StatusPaused:
		s.state.Status = StatusReady
		return nil
	case StatusCreated, StatusShutdown:
	default:
		return s.wrongStatus("starting")
	}
	before := s.state.Status
	s.state.Status = StatusStarting
	if err := s.load(ctx); err != nil {
		s.state.Status, s.state.Error = before, err.Error()
		return err
	}
	s.state.Status = StatusReady
	return nil
}

func (s *Session) load(ctx context.Context) error {
	messages, err := s.messageStore.LoadMessages(ctx, s.id)
	if err != nil {
		return fmt.Errorf("loading session %s: %w", s.id, err)
	}
	artifacts, err := s.artifactStore.LoadArtifacts(ctx, s.id)
	if err != nil {
		return fmt.Errorf("loading session %s: %w", s.id, err)
	}
	state, err := s.stateStore.LoadState(ctx, s.id)
	if err != nil {
		return fmt.Errorf("loading session %s: %w", s.id, err)
	}
	s.messages, s.artifacts = messages, artifacts
	if state != nil {
		s.state = *state
	}
	return nil
}

// Pause saves a ready session; Start makes it ready again.
func (s *Session) Pause(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Status != StatusReady {
		return s.wrongStatus("pausing")
	}
	s.state.Status = StatusPaused
	return s.save(ctx)
}

// Shutdown cancels a running turn, waits for it, and saves. Doing it again does nothing.
func (s *Session) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.state.Status == StatusBusy {
		s.cancel()
		idle := s.idle
		s.mu.Unlock()
		<-idle
		s.mu.Lock()
	}
	if s.state.Status == StatusCreated || s.state.Status == StatusShutdown {
		s.state.Status = StatusShutdown
		return nil
	}
	s.state.Status = StatusShutdown
	return s.save(ctx)
}

// Save writes everything to the stores. Turn, Pause and Shutdown do so themselves.
func (s *Session) Save(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.save(ctx)
}

func (s *Session) save(ctx context.Context) error {
	if err := s.messageStore.SaveMessages(ctx, s.id, s.messages); err != nil {
		return fmt.Errorf("saving session %s: %w", s.id, err)
	}
	if err := s.artifactStore.SaveArtifacts(ctx, s.id, s.artifacts); err != nil {
		return fmt.Errorf("saving session %s: %w", s.id, err)
	}
	if err := s.stateStore.SaveState(ctx, s.id, s.state); err != nil {
		return fmt.Errorf("saving session %s: %w", s.id, err)
	}
	return nil
}

// Clear forgets the conversation and the artifacts, here and in the stores.
// The next turn begins anew. A busy session refuses.
func (s *Session) Clear(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Status == StatusBusy || s.state.Status == StatusCreated {
		return s.wrongStatus("clearing")
	}
	s.messages, s.artifacts, s.said = nil, nil, nil
	s.state.Task, s.state.Turns, s.state.Error = "", 0, ""
	return s.save(ctx)
}

func (s *Session) wrongStatus(doing string) error {
	return fault.Newf(fault.Usage, "%s session %s: it is %s", doing, s.id, s.state.Status)
}
