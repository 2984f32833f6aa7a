package runner

import "sync"

// Width is how many jobs run at the same time, at least one. It may be changed while they
// run, and by many goroutines at once. If it grows, more jobs are admitted at once; if it
// shrinks, none until enough of the running ones have ended. The zero value is one.
type Width struct {
	mu      sync.Mutex
	n       int
	changed chan struct{} // closed when n changes; nil while nothing waits for a change
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

// N returns the width; a nil Width is one.
func (w *Width) N() int {
	if w == nil {
		return 1
	}
	n, _ := w.now()
	return n
}

// now returns the width, and a channel that is closed when it changes.
func (w *Width) now() (n int, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return max(1, w.n), w.changed
}
