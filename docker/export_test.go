package docker

import (
	"context"
	"testing"
	"time"

	"github.com/docker/docker/api/types/mount"
)

// BoxInitPath is where the helper is in a container.
const BoxInitPath = boxInitPath

// LacksBoxInit is lacksBoxInit.
var LacksBoxInit = lacksBoxInit

// BoxInit is boxInit.
func (e *Engine) BoxInit(ctx context.Context, image string) (mount.Mount, error) {
	return e.boxInit(ctx, image)
}

// RefillBoxInit is refillBoxInit.
func (e *Engine) RefillBoxInit(ctx context.Context, image string) error {
	return e.refillBoxInit(ctx, image)
}

// Credentials is the user's login for the registry of ref, as the engine takes it.
func (e *Engine) Credentials(t testing.TB, ref string) string {
	t.Helper()
	name, err := normal(ref)
	if err != nil {
		t.Fatal(err)
	}
	return e.credentials(name)
}

// Hurry makes the pulls wait for milliseconds where they would for seconds.
// Call it before the first pull.
func (e *Engine) Hurry() {
	e.pace = pace{
		tries: 3, short: 10 * time.Millisecond,
		limits: 4, limited: 10 * time.Millisecond, longest: 40 * time.Millisecond, patience: time.Minute, stall: time.Minute,
	}
}

// Stall ends the pulls of which nothing new is heard for d. Call it before the
// first of them.
func (e *Engine) Stall(d time.Duration) { e.pace.stall = d }

// Impatient lets limitOf say how long a call of e may wait for its answer. Call
// it before the first of them.
func (e *Engine) Impatient(limitOf func(method, path string) time.Duration) { e.limitOf = limitOf }

// Waiters returns how many callers wait for the pull of ref.
func (e *Engine) Waiters(ref string) int {
	name, err := normal(ref)
	if err != nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiters(wanted{name, ""})
}

func (e *Engine) waiters(name wanted) int {
	p := e.pulls[name.key()]
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiters)
}
