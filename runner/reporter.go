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

// reserve implements Reserve of an [Attempt]: no call is made during a pause, also if it began while
// the attempt waited for money.
func (r *reporter) reserve(ctx context.Context) (*Reservation, error) {
	for {
		if err := r.hold(ctx); err != nil {
			return nil, err
		}
		call, err := r.pool.Budget.Reserve(ctx)
		if err != nil || !r.pool.Pause.On() {
			return call, err
		}
		call.Release()
	}
}

// hold waits for the end of a pause.
func (r *reporter) hold(ctx context.Context) error {
	if !r.pool.Pause.On() {
		return nil
	}
	held := r.last
	held.Held = true
	r.pool.OnEvent(Event{Type: EventPhase, Job: r.job, Attempt: r.attempt, Progress: held})
	if err := r.pool.Pause.wait(ctx); err != nil {
		return err
	}
	r.report(r.last)
	return nil
}
