package runner

import (
	"context"
	"time"

	"batch.example/batch/vocab"
)

// reporter reports the events of one attempt. Its methods are called from the goroutine of the
// attempt.
type reporter struct {
	pool    *pool
	job     string
	attempt int
	last    vocab.Event // an EventPhase
}

func (r *reporter) report(e vocab.Event) {
	if e.Type == vocab.EventPhase {
		r.last = e
	}
	e.Instance, e.Attempt = r.job, r.attempt
	r.pool.OnEvent(e)
}

// ended reports how the attempt ended.
func (r *reporter) ended(typ vocab.EventType, end Ending, wait time.Duration) {
	r.report(vocab.Event{
		Type: typ, Step: end.Steps, Cost: end.Cost, Wait: wait,
		Status: end.Status, Result: end.Result, Outcome: end.Outcome, Blame: end.Blame, Error: end.Error,
	})
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
	doing := r.last
	held := doing
	held.Phase = vocab.PhasePaused
	r.report(held)
	if err := r.pool.Pause.wait(ctx); err != nil {
		return err
	}
	r.report(doing)
	return nil
}
