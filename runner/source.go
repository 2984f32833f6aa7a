package runner

import "context"

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

// List returns a source of jobs, in order.
func List[J any](jobs []J) Source[J] { return &list[J]{jobs} }

type list[J any] struct{ jobs []J }

// Next implements Source.
func (l *list[J]) Next(context.Context) (job J, ok bool, err error) {
	if len(l.jobs) == 0 {
		return job, false, nil
	}
	job, l.jobs = l.jobs[0], l.jobs[1:]
	return job, true, nil
}

// Left implements Source.
func (l *list[J]) Left() int { return len(l.jobs) }
