package runner

import (
	"context"
	"slices"
	"sync"
)

// Roster is the Source of jobs that are known, to which jobs may be added as long as one of them waits
// or runs. [Config.OnLeave] must call its Ended. It is safe for concurrent use.
type Roster[J any] struct {
	mu      sync.Mutex
	jobs    []J
	running int
	over    bool          // no job waited or ran, or no more jobs are admitted
	changed chan struct{} // closed and replaced at each change
	watch   sync.Once
}

// NewRoster returns a roster of jobs.
func NewRoster[J any](jobs []J) *Roster[J] {
	return &Roster[J]{jobs: slices.Clone(jobs), changed: make(chan struct{})}
}

// Add appends a job. It returns false if all jobs have ended, or no more are admitted.
func (r *Roster[J]) Add(job J) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	r.jobs = append(r.jobs, job)
	r.broadcast()
	return true
}

// Hold keeps the roster open for a job that will be added, until Ended is called. It returns false
// if all jobs have ended, or no more are admitted.
func (r *Roster[J]) Hold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.running++
	}
	return !r.over
}

// Ended says that a job that Next returned has ended, or ends a Hold.
func (r *Roster[J]) Ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	r.broadcast()
}

// broadcast is called with r.mu held.
func (r *Roster[J]) broadcast() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Next implements [Source]. It waits for a job as long as one runs.
func (r *Roster[J]) Next(ctx context.Context) (job J, ok bool, err error) {
	r.watch.Do(func() { context.AfterFunc(ctx, r.end) })
	for {
		job, ok, changed := r.take()
		if ok || changed == nil {
			return job, ok, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return job, false, nil
		}
	}
}

// end ends the roster because no more jobs are admitted: one that is added would not begin.
func (r *Roster[J]) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// take returns a job, or a channel to wait for; neither if all have ended.
func (r *Roster[J]) take() (job J, ok bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.jobs) > 0:
		job, r.jobs = r.jobs[0], r.jobs[1:]
		r.running++
		return job, true, nil
	case r.running > 0:
		return job, false, r.changed
	}
	r.over = true
	return job, false, nil
}

// Left implements [Source].
func (r *Roster[J]) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.jobs)
}
