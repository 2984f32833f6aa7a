package runner

import "context"

// reporter reports the progress of one attempt. Its methods are called from the goroutine of the
// attempt.
type reporter struct {
	pool    *pool
	job     string
	attempt int
	last    Progress
}

func (r *reporter) report(p Progress) {
	if p.Retry == nil {
		r.last = p
	}
	r.pool.OnEvent(Event{Type: EventPhase, Job: r.job, Attempt: r.attempt, Progress: p})
}

// reserve implements Reserve of an [Attempt]: it waits for the end of a pause first.
func (r *reporter) reserve(ctx context.Context) (*Reservation, error) {
	if r.pool.Pause.On() {
		held := r.last
		held.Held = true
		r.pool.OnEvent(Event{Type: EventPhase, Job: r.job, Attempt: r.attempt, Progress: held})
		if err := r.pool.Pause.wait(ctx); err != nil {
			return nil, err
		}
		r.report(r.last)
	}
	return r.pool.Budget.Reserve(ctx)
}
