package runner

import "sync"

// Width is how many jobs run at once, at least one. It may be changed while they
// run, also by many goroutines at once: wider, more are admitted right away;
// narrower, none until enough of the running ones have ended.
type Width struct {
	mu      sync.Mutex
	n       int
	changed chan struct{} // closed when n changes
}

// NewWidth returns a width of n.
func NewWidth(n int) *Width { return &Width{n: n, changed: make(chan struct{})} }

// Set changes the width to n.
func (w *Width) Set(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n = n
	close(w.changed)
	w.changed = make(chan struct{})
}

// now returns the width, and what is closed when it changes.
func (w *Width) now() (n int, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(1, w.n), w.changed
}
