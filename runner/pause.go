package runner

import (
	"context"
	"sync"
)

// Pause holds all pools that share it: while it is on, no job begins, and no attempt gets money for a
// call. The zero value is off, and a nil Pause always is. It is safe for concurrent use.
type Pause struct {
	mu  sync.Mutex
	off chan struct{} // closed when the pause ends; nil: it is off
}

// Set begins or ends the pause.
func (p *Pause) Set(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case on && p.off == nil:
		p.off = make(chan struct{})
	case !on && p.off != nil:
		close(p.off)
		p.off = nil
	}
}

// On reports whether the pools are held.
func (p *Pause) On() bool { return p.ends() != nil }

// ends returns a channel that is closed when the pause ends; nil: it is off.
func (p *Pause) ends() <-chan struct{} {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.off
}

// wait returns when the pause is off, or with the error of ctx.
func (p *Pause) wait(ctx context.Context) error {
	for {
		ends := p.ends()
		if ends == nil {
			return nil
		}
		select {
		case <-ends:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
