// Package images manages the images of one Docker engine. It lists them with their sizes,
// and pulls a missing image once, however many callers ask for it at the same time.
package images

import (
	"sync"
	"time"

	"github.com/docker/cli/cli/config/configfile"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/internal/daemon"
)

const defaultPulls = 4

// Store is the images of one engine. It is safe for concurrent use.
type Store struct {
	engine *daemon.Conn
	login  *configfile.ConfigFile
	auth   sync.Mutex // a credential helper is a separate process: one at a time

	slots   *semaphore.Weighted // images being pulled
	mu      sync.Mutex
	pulls   map[string]*pull
	gates   map[string]*gate               // by registry
	turns   map[string]*semaphore.Weighted // by image name
	pullers sync.WaitGroup

	pace        pace
	pullTimeout time.Duration
}

// New returns the images of an engine. Login has the user's logins to registries. At most
// pulls images are pulled at the same time (0: 4). One download may take pullTimeout
// (0: no limit). The caller must Close the Store before it closes the engine.
func New(e *daemon.Conn, login *configfile.ConfigFile, pulls int, pullTimeout time.Duration) *Store {
	return &Store{
		engine: e, login: login, slots: daemon.AtMost(pulls, defaultPulls), pace: defaultPace, pullTimeout: pullTimeout,
		pulls: map[string]*pull{}, gates: map[string]*gate{}, turns: map[string]*semaphore.Weighted{},
	}
}

// Close cancels the running pulls and waits until they have ended. No Ensure may begin
// after it.
func (s *Store) Close() {
	s.mu.Lock()
	for _, p := range s.pulls {
		p.cancel()
	}
	s.mu.Unlock()
	s.pullers.Wait()
}
