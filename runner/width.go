package runner

import "sync"

// Width is how many jobs run at once, at least one. It may be changed while they
// run, also by many goroutines at once: wider, more are admitted right away;
// narrower, none until enough of the running ones have ended. The zero value is one.
type Width struct {
	mu      sync.Mutex
	n       int
	changed chan struct{} // closed when n changes; nil while nobody waits for that
}

// NewWidth returns a width of n.
func NewWidth(n int) *Width { return &Width{n: n} }

// Set changes the width to n.
func (w *Width) Set(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n = n
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// now returns the width, and what is closed when it changes.
func (w *Width) now() (n int, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return max(1, w.n), w.changed
}
