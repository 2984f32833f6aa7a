package runner

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Halts ends single jobs of one pool, by name, and keeps others from beginning. Names are unique in the
// pool. The zero value halts none. It is safe for concurrent use.
type Halts struct {
	mu      sync.Mutex
	halted  map[string]bool
	running map[string]*halting
	ended   map[string]bool // began, or was kept from beginning, and does not run
}

// halting is a running job.
type halting struct {
	cancel context.CancelFunc
	again  func() // called when it has ended; nil: nothing
}

// Place says where a job is.
type Place int

// The places of a job.
const (
	Waiting  Place = iota // it has not begun in this pool
	Underway              // it runs
	Left                  // it has ended, or was kept from beginning
)

// Halt ends a job as interrupted if it runs, and keeps it from beginning until [Halts.Release].
func (h *Halts) Halt(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.halted == nil {
		h.halted = map[string]bool{}
	}
	h.halted[name] = true
	if r := h.running[name]; r != nil {
		r.again = nil
		r.cancel()
	}
}

// Release lets a job begin again. It calls again, which may add the job to its source: at once,
// or when the running job has ended.
func (h *Halts) Release(name string, again func()) {
	h.mu.Lock()
	delete(h.halted, name)
	r := h.running[name]
	if r != nil {
		r.again = again
	}
	delete(h.ended, name)
	h.mu.Unlock()
	if r == nil {
		again()
	}
}

// At returns where a job is, and whether it is halted.
func (h *Halts) At(name string) (at Place, halted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.running[name] != nil:
		at = Underway
	case h.ended[name]:
		at = Left
	}
	return at, h.halted[name]
}

// begin returns the context of a job that begins, unless it is halted. End must be called when it
// has ended. A nil Halts halts none.
func (h *Halts) begin(ctx context.Context, name string) (_ context.Context, end func(), ok bool) {
	if h == nil {
		return ctx, func() {}, true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended == nil {
		h.ended, h.running = map[string]bool{}, map[string]*halting{}
	}
	if h.halted[name] {
		h.ended[name] = true
		return ctx, func() {}, false
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &halting{cancel: cancel}
	h.running[name] = r
	delete(h.ended, name)
	return ctx, func() { h.end(name, r) }, true
}

func (h *Halts) end(name string, r *halting) {
	r.cancel()
	h.mu.Lock()
	delete(h.running, name)
	again := r.again
	h.ended[name] = again == nil
	h.mu.Unlock()
	if again != nil {
		again()
	}
}

// Halted returns the names of the halted jobs, sorted.
func (h *Halts) Halted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.halted))
}
