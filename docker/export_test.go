package docker

import (
	"time"

	"github.com/distribution/reference"
)

// Hurry makes the pulls wait for milliseconds where they would for seconds.
// Call it before the first pull.
func (e *Engine) Hurry() {
	e.pace = pace{
		tries: 3, short: 10 * time.Millisecond,
		limits: 4, limited: 10 * time.Millisecond, longest: 40 * time.Millisecond, patience: time.Minute,
	}
}

// Waiters returns how many callers wait for the pull of ref.
func (e *Engine) Waiters(ref string) int {
	name, err := normal(ref)
	if err != nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiters(name)
}

func (e *Engine) waiters(name reference.Named) int {
	p := e.pulls[name.String()]
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiters)
}
