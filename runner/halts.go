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
	queued  map[string]bool // in the source, and not begun
	running map[string]*halting
	ended   map[string]bool // began, or was kept from beginning, and has ended
}

// halting is a running job.
type halting struct {
	cancel context.CancelFunc
	again  func() bool // called when it has ended; nil: nothing
}

// Place says where a job is.
type Place int

// The places of a job.
const (
	Waiting  Place = iota // it has not begun in this pool
	Underway              // it runs
	Left                  // it has ended, or was kept from beginning
)

// Queue says that jobs are in the source of the pool from its beginning.
func (h *Halts) Queue(names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		h.queue(name)
	}
}

// queue is called with h.mu held.
func (h *Halts) queue(name string) {
	if h.queued == nil {
		h.queued = map[string]bool{}
	}
	h.queued[name] = true
}

// Queued reports whether a job is in the source of the pool and has not begun.
func (h *Halts) Queued(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.queued[name]
}

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

// Release lets a job begin again. Unless the job is in its source, Release calls again, which adds
// it and reports whether it could: at once, or when the running job has ended. Release returns false
// if again did.
func (h *Halts) Release(name string, again func() bool) bool {
	h.mu.Lock()
	delete(h.halted, name)
	r, queued := h.running[name], h.queued[name]
	switch {
	case r != nil:
		r.again = again
	case !queued:
		h.queue(name)
	}
	h.mu.Unlock()
	return r != nil || queued || h.add(name, again)
}

// add adds a job that counts as queued, because it may begin before again returns.
func (h *Halts) add(name string, again func() bool) bool {
	added := again()
	if !added {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.queued, name)
	}
	return added
}

// At returns where a job is, and whether it is halted.
func (h *Halts) At(name string) (at Place, halted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.running[name] != nil:
		at = Underway
	case h.ended[name] && !h.queued[name]:
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
	delete(h.queued, name)
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
	h.ended[name] = true
	if again != nil {
		h.queue(name)
	}
	h.mu.Unlock()
	if again != nil {
		h.add(name, again)
	}
}

// Halted returns the names of the halted jobs, sorted.
func (h *Halts) Halted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.halted))
}
