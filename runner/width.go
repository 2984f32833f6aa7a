package runner

import "sync"

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
