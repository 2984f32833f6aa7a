package runner

import (
	"context"
	"sync"
	"time"
)

// gatePause is the time between two calls of a gate that admits no job.
const gatePause = time.Second

// enter waits until a further job may start: fewer jobs run than the width allows, and the
// gate admits one or no job runs. It returns false if no more jobs are admitted. A job
// that enters must leave.
func (p *pool) enter() bool {
	shut := ""
	for p.Pause.wait(p.admission) == nil && p.awaitWidth() {
		why := p.gateReason()
		switch {
		case why != "":
			if shut == "" {
				shut = why
				p.Log.Warn("not starting further instances for now", "why", why)
			}
			p.sleep(p.admission, gatePause)
		case p.Pause.On():
		case p.Width.take(): // another pool may have been faster
			if shut != "" {
				p.Log.Warn("starting instances again")
			}
			return true
		}
	}
	return false
}

// awaitWidth waits until fewer jobs run than the width allows. It returns false if no more
// jobs are admitted.
func (p *pool) awaitWidth() bool {
	for p.open() {
		ok, changed := p.Width.free()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-p.admission.Done():
		}
	}
	return false
}

// gateReason returns why the gate admits no further job; empty if it admits one.
func (p *pool) gateReason() string {
	if p.Gate == nil || p.Width.idle() {
		return ""
	}
	return p.Gate()
}

// Width is how many jobs run at the same time, at least one, in all pools that share it. It
// may be changed while they run, and by many goroutines at once. If it grows, more jobs are
// admitted at once; if it shrinks, none until enough of the running ones have ended. The
// zero value is one.
type Width struct {
	mu      sync.Mutex
	n       int
	running int           // jobs, of all pools
	changed chan struct{} // closed when n grows or a job ends; nil while nothing waits for that
}

// NewWidth returns a width of n.
func NewWidth(n int) *Width { return &Width{n: n} }

// Set changes the width to n.
func (w *Width) Set(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n = n
	w.broadcast()
}

// N returns the width; a nil Width is one.
func (w *Width) N() int {
	if w == nil {
		return 1
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(1, w.n)
}

// free reports whether a further job may run, or returns a channel that is closed when that
// may have changed.
func (w *Width) free() (ok bool, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running < max(1, w.n) {
		return true, nil
	}
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return false, w.changed
}

// take counts a further job as running, if one may run.
func (w *Width) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running >= max(1, w.n) {
		return false
	}
	w.running++
	return true
}

// leave counts a job as ended.
func (w *Width) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	w.broadcast()
}

// idle reports whether no job runs.
func (w *Width) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running == 0
}

// broadcast is called with w.mu held.
func (w *Width) broadcast() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

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
