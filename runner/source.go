package runner

import (
	"context"
	"slices"
	"sync"
)

// Source provides the jobs of a run. One goroutine at a time calls it, when a job could
// start at once.
type Source[J any] interface {
	// Next returns the next job, or false when there are no more. It may wait for a job,
	// and must return when ctx ends, because then no more jobs are admitted. An error stops
	// admission.
	Next(ctx context.Context) (job J, ok bool, err error)

	// Left returns how many jobs were not taken when the run ends, for its summary: 0
	// if another process may take them.
	Left() int
}

// Queue is the Source of jobs that are known: a list, in order, which may grow until it is
// closed. Add, Close and Left may be called from many goroutines at once.
type Queue[J any] struct {
	mu      sync.Mutex
	jobs    []J
	closed  bool
	changed chan struct{} // has a token after a change that Next may wait for
}

// NewQueue returns a queue that has jobs and may grow.
func NewQueue[J any](jobs ...J) *Queue[J] {
	return &Queue[J]{jobs: slices.Clone(jobs), changed: make(chan struct{}, 1)}
}

// List returns a closed queue of jobs.
func List[J any](jobs []J) *Queue[J] {
	q := NewQueue(jobs...)
	q.Close()
	return q
}

// Add appends a job.
func (q *Queue[J]) Add(job J) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, job)
	q.wake()
}

// Close says that no job will be added any more.
func (q *Queue[J]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

func (q *Queue[J]) wake() {
	select {
	case q.changed <- struct{}{}:
	default: // Next has not received the previous one yet
	}
}

// Next implements Source. It waits until there is a job or the queue is closed. When ctx ends
// while it waits, there is no job, and no error.
func (q *Queue[J]) Next(ctx context.Context) (job J, ok bool, err error) {
	for {
		job, ok, closed := q.take()
		if ok || closed {
			return job, ok, nil
		}
		select {
		case <-q.changed:
		case <-ctx.Done():
			return job, false, nil
		}
	}
}

func (q *Queue[J]) take() (job J, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 {
		return job, false, q.closed
	}
	job, q.jobs = q.jobs[0], q.jobs[1:]
	return job, true, false
}

// Left implements Source.
func (q *Queue[J]) Left() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs)
}

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
