package docker

import "github.com/distribution/reference"

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
