package runner

import "context"

// Source hands out the jobs of a run. It is asked by one goroutine at a time, when
// a job could start at once.
type Source[J any] interface {
	// Next returns the next job, or false when there will be none. It may wait until
	// there is one, and ends when ctx does, since nothing more is admitted then. An
	// error stops admission.
	Next(ctx context.Context) (job J, ok bool, err error)

	// Left returns how many jobs nobody will have taken when the run ends, for its
	// summary: 0 where others may take them.
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
