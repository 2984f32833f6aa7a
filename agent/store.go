package agent

import (
	"context"
	"slices"
	"sync"

	"batch.example/batch/llm"
)

// MessageStore keeps conversations by session id. An unknown id is an empty one.
type MessageStore interface {
	LoadMessages(ctx context.Context, id string) ([]llm.Message, error)
	SaveMessages(ctx context.Context, id string, messages []llm.Message) error // replaces all
}

// ArtifactStore keeps what turns produced, in the order in which it was saved.
type ArtifactStore interface {
	LoadArtifacts(ctx context.Context, id string) ([]Artifact, error)
	SaveArtifacts(ctx context.Context, id string, artifacts []Artifact) error // replaces all
}

// StateStore keeps where sessions stand. Nil without an error is an unknown id.
type StateStore interface {
	LoadState(ctx context.Context, id string) (*State, error)
	SaveState(ctx context.Context, id string, s State) error
}

// Artifact is something a turn produced: its submission, byte for byte.
type Artifact struct {
	Name string `json:"name"`
	Turn int    `json:"turn"` // from 1
	Data []byte `json:"data"`
}

// Memory is all three stores, gone with the process. The zero value is ready;
// it is safe for concurrent use.
type Memory struct {
	mu        sync.Mutex
	messages  map[string][]llm.Message
	artifacts map[string][]Artifact
	states    map[string]State
}

// LoadMessages returns a copy of the conversation.
func (m *Memory) LoadMessages(_ context.Context, id string) ([]llm.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.messages[id]), nil
}

// SaveMessages keeps a copy of messages.
func (m *Memory) SaveMessages(_ context.Context, id string, messages []llm.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	put(&m.messages, id, slices.Clone(messages))
	return nil
}

// LoadArtifacts returns a copy of the list.
func (m *Memory) LoadArtifacts(_ context.Context, id string) ([]Artifact, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.artifacts[id]), nil
}

// SaveArtifacts keeps a copy of the list.
func (m *Memory) SaveArtifacts(_ context.Context, id string, artifacts []Artifact) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	put(&m.artifacts, id, slices.Clone(artifacts))
	return nil
}

// LoadState returns nil for an unknown id.
func (m *Memory) LoadState(_ context.Context, id string) (*State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.states[id]
	if !ok {
		return nil, nil
	}
	return &s, nil
}

// SaveState keeps s.
func (m *Memory) SaveState(_ context.Context, id string, s State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	put(&m.states, id, s)
	return nil
}

func put[V any](m *map[string]V, id string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[id] = v
}
