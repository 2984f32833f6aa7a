package runner

import (
	"context"
	"sync"
)

// Roster has the jobs of one pool, in their order. A job may be added as long as one waits or runs, and
// while the roster is held. It is safe for concurrent use.
type Roster[J any] struct {
	*turns[J]
	pool int
}

// NewRoster returns the roster of a pool that works alone.
func NewRoster[J any](jobs []J) *Roster[J] {
	order := make([]Turn[J], len(jobs))
	for i, job := range jobs {
		order[i].Job = job
	}
	return TakeTurns(1, order)[0]
}

// Turn is a job of one of several pools, which are numbered from 0.
type Turn[J any] struct {
	Pool int
	Job  J
}

// TakeTurns returns the rosters of n pools that take their jobs in one common order: a pool waits for
// its turn, and the next turn follows when the job of the last one has begun. The turns of a pool that
// takes no more jobs are skipped. All rosters stay open as long as a job of any pool waits or runs.
func TakeTurns[J any](n int, order []Turn[J]) []*Roster[J] {
	t := &turns[J]{order: order, pools: make([]share, n), entering: -1, changed: make(chan struct{})}
	for _, next := range order {
		t.pools[next.Pool].left++
	}
	rosters := make([]*Roster[J], n)
	for i := range rosters {
		t.pools[i].over = make(chan struct{})
		rosters[i] = &Roster[J]{t, i}
	}
	return rosters
}

// turns has the jobs of all pools that take turns.
type turns[J any] struct {
	mu       sync.Mutex
	order    []Turn[J] // not taken yet
	pools    []share
	running  int           // jobs that were taken and have not ended, and holds
	entering int           // the pool that took the last job, which has not begun yet; -1: none
	changed  chan struct{} // closed and replaced at each change
}

// share is the state of one pool in the turns.
type share struct {
	left   int // jobs in the order
	closed bool
	over   chan struct{} // closed with it
}

// Add appends a job. It returns false if the pool takes no more.
func (r *Roster[J]) Add(job J) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := &r.pools[r.pool]
	if own.closed {
		return false
	}
	r.order = append(r.order, Turn[J]{r.pool, job})
	own.left++
	r.broadcast()
	return true
}

// Hold keeps the roster open for a job that will be added, until Release is called. It returns false
// if the pool takes no more jobs.
func (r *Roster[J]) Hold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := !r.pools[r.pool].closed
	if open {
		r.running++
	}
	return open
}

// Release ends a Hold.
func (r *Roster[J]) Release() { r.ended() }

// Close says that the pool takes no more jobs, also none that wait. A pool closes its roster when it
// admits no more jobs.
func (r *Roster[J]) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

// close is called with r.mu held.
func (r *Roster[J]) close() {
	own := &r.pools[r.pool]
	if !own.closed {
		own.closed = true
		close(own.over)
		r.broadcast()
	}
}

// Over returns a channel that is closed when the pool takes no more jobs.
func (r *Roster[J]) Over() <-chan struct{} { return r.pools[r.pool].over }

// Left returns how many jobs wait, or were left when the pool ended.
func (r *Roster[J]) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pools[r.pool].left
}

// next returns the next job of the pool, and waits for it. It returns false when there are no more, or
// when ctx ends. The pool must call begun, and ended for the job.
func (r *Roster[J]) next(ctx context.Context) (job J, ok bool) {
	for {
		job, ok, wait := r.take()
		if ok || wait == nil {
			return job, ok
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return job, false
		}
	}
}

// take returns the next job of the pool if it is its turn, otherwise a channel to wait for; neither if
// the pool takes no more.
func (r *Roster[J]) take() (job J, ok bool, wait <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.order) > 0 && r.pools[r.order[0].Pool].closed {
		r.order = r.order[1:]
	}
	own := &r.pools[r.pool]
	switch {
	case own.closed:
		return job, false, nil
	case len(r.order) == 0 && r.running == 0:
		r.close()
		return job, false, nil
	case r.entering >= 0 || len(r.order) == 0 || r.order[0].Pool != r.pool:
		return job, false, r.changed
	}
	job, r.order = r.order[0].Job, r.order[1:]
	own.left--
	r.entering = r.pool
	r.running++
	return job, true, nil
}

// begun records that the last job that the pool took has begun, or will not begin.
func (r *Roster[J]) begun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entering = -1
	r.broadcast()
}

// ended records that a job that the pool took has ended.
func (r *Roster[J]) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	r.broadcast()
}

// broadcast is called with t.mu held.
func (t *turns[J]) broadcast() {
	close(t.changed)
	t.changed = make(chan struct{})
}
