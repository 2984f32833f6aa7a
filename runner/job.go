package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"batch.example/batch/fault"
)

// run is one job under way.
type run[J, R any] struct {
	*pool
	worker Worker[J, R]
	job    J
	name   string
	kept   keeper
}

// maxOutages is how many failures of a job pass for an outage: one that
// meets more may well be their cause.
const maxOutages = 10

// attempts makes attempts until the job has a result, its failure is not
// worth another one, or the run is told to stop.
func (r *run[J, R]) attempts(ctx context.Context) {
	waiting := r.started
	used := map[string]int{} // retries, by the name that they count under
	outages := 0
	defer func() {
		if err := r.kept.close(); err != nil {
			r.Log.Error("closing what a job kept", "job", r.name, "err", err)
		}
	}()
	for n := 1; ; n++ {
		r.Log.Info("attempt started", "job", r.name, "attempt", n)
		r.OnEvent(Event{Type: EventStart, Job: r.name, Attempt: n})
		result, err := r.attempt(ctx, n, time.Since(waiting))
		waiting = time.Now()
		end, saved := r.save(ctx, result, err)
		out := outages < maxOutages && r.Outage(err)
		kind, most := r.Retries.key(end)
		again := saved && (out || used[kind] < most) && !shared(err) && r.open()
		if out {
			outages++
		} else {
			used[kind]++
		}
		r.Log.Info("attempt ended", "job", r.name, "attempt", n, "status", end.Status, "outcome", end.Outcome,
			"steps", end.Steps, "cost", end.Cost, "again", again, "err", end.Error)
		if again {
			r.OnEvent(Event{Type: EventRetry, Job: r.name, Attempt: n, Ending: end})
			if !out && end.Blame != "" { // else nothing has to pass before another chance
				r.sleep(r.backoff(n - outages))
			}
			again = r.open()
		}
		if !again {
			r.count(end.State)
			r.OnEvent(Event{Type: EventEnd, Job: r.name, Attempt: n, Ending: end})
			return
		}
	}
}

// attempt makes one attempt. A panic ends it alone.
func (r *run[J, R]) attempt(ctx context.Context, n int, queued time.Duration) (result R, err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &Panic{Value: v, Stack: string(debug.Stack())}
			err = fault.New(fault.Bug, "panic while solving "+r.name, p)
			r.Log.Error("panic", "job", r.name, "err", err, "stack", p.Stack)
		}
	}()
	result, err = r.worker.Do(ctx, Attempt[J]{
		Job:    r.job,
		Number: n,
		Queued: queued,
		Report: func(p Progress) {
			r.OnEvent(Event{Type: EventPhase, Job: r.name, Attempt: n, Progress: p})
		},
		Reserve: r.Budget.Reserve,
		Keep:    r.kept.keep,
		Kept:    r.kept.take,
	})
	if err != nil && ctx.Err() != nil {
		// Whatever broke while everything was being told to stop broke because of it.
		r.Log.Info("stopped", "job", r.name, "attempt", n, "err", err)
		err = fmt.Errorf("told to stop: %w", context.Canceled)
	}
	return result, err
}

// save saves what came of an attempt even when the run is being cancelled: work
// that was paid for is not lost to an interrupt. It stops the run for a fault that
// all jobs share, the attempt's or its own, and for a spent budget.
func (r *run[J, R]) save(ctx context.Context, result R, err error) (end Ending, saved bool) {
	if errors.Is(err, ErrBudget) {
		r.spent()
	}
	end, lost := r.worker.Save(context.WithoutCancel(ctx), r.job, result, err)
	if lost == nil {
		if shared(err) {
			r.stop(err)
		}
		return end, true
	}
	r.Log.Error("saving a result", "job", r.name, "err", lost)
	if fault.KindOf(lost) == fault.Unknown {
		lost = fault.New(fault.Host, "saving the result of "+r.name, lost)
	}
	end.State, end.Error = Failed, lost.Error()
	if fault.KindOf(lost) != fault.Instance { // one that cannot be saved says nothing of the others
		r.stop(lost)
	}
	return end, false
}

// keeper holds what one attempt leaves for the next.
type keeper struct{ held io.Closer }

func (k *keeper) keep(c io.Closer) { k.held = c }

func (k *keeper) take() io.Closer {
	held := k.held
	k.held = nil
	return held
}

// close closes what no attempt took.
func (k *keeper) close() error {
	if held := k.take(); held != nil {
		return held.Close()
	}
	return nil
}
