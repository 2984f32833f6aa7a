// Package images sees to the images of one Docker engine: which there are, what they
// take, and that those that are missing are pulled once, however many callers ask for
// them at the same time.
package images

import (
	"sync"
	"time"

	"github.com/docker/cli/cli/config/configfile"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/internal/engine"
)

const defaultPulls = 4

// Store is the images of one engine. It is safe for concurrent use.
type Store struct {
	engine *engine.Conn
	login  *configfile.ConfigFile
	auth   sync.Mutex // a credential helper is a process of its own: one at a time

	slots   *semaphore.Weighted // images being pulled
	mu      sync.Mutex
	pulls   map[string]*pull
	gates   map[string]*gate               // by registry
	turns   map[string]*semaphore.Weighted // by image name
	pullers sync.WaitGroup

	pace        pace
	pullTimeout time.Duration
}

// New returns the images of an engine. Login has the user's logins to registries. So
// many images are pulled at the same time (0: 4), and one download may take so long
// (0: without end). The caller must Close before the engine is closed.
func New(e *engine.Conn, login *configfile.ConfigFile, pulls int, pullTimeout time.Duration) *Store {
	return &Store{
		engine: e, login: login, slots: engine.AtMost(pulls, defaultPulls), pace: defaultPace, pullTimeout: pullTimeout,
		pulls: map[string]*pull{}, gates: map[string]*gate{}, turns: map[string]*semaphore.Weighted{},
	}
}

// Close ends the pulls under way and waits for them. No Ensure may begin after it.
func (s *Store) Close() {
	s.mu.Lock()
	for _, p := range s.pulls {
		p.cancel()
	}
	s.mu.Unlock()
	s.pullers.Wait()
}
