package images

import (
	"testing"
	"time"
)

// Credentials is the user's login for the registry of ref, in the engine's form.
func (s *Store) Credentials(t testing.TB, ref string) string {
	t.Helper()
	name, err := normal(ref)
	if err != nil {
		t.Fatal(err)
	}
	return s.credentials(name)
}

// Hurry makes pulls wait milliseconds in place of seconds.
// Call it before the first pull.
func (s *Store) Hurry() {
	s.pace = pace{
		tries: 3, short: 10 * time.Millisecond,
		limits: 4, limited: 10 * time.Millisecond, longest: 40 * time.Millisecond, patience: time.Minute, stall: time.Minute,
	}
}

// Stall ends pulls without progress for d. Call it before the
// first pull.
func (s *Store) Stall(d time.Duration) { s.pace.stall = d }

// Waiters returns how many callers wait for the pull of ref.
func (s *Store) Waiters(ref string) int {
	name, err := normal(ref)
	if err != nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pulls[wanted{name, ""}.key()]
	if p == nil {
		return 0
	}
	return p.waiters
}
