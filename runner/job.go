package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/retry"
	"batch.example/batch/vocab"
)

// Worker makes attempts at jobs of type J, with results of type R.
// Its methods are called from many goroutines at once.
type Worker[J, R any] interface {
	// Name returns the name of a job in logs and events.
	Name(job J) string

	// Do makes one attempt. Before it returns, it must release everything it took, even
	// if ctx is canceled. An error is a fault with blame, [ErrBudget], or a cancellation;
	// then the result has everything known so far.
	Do(ctx context.Context, a Attempt[J]) (R, error)

	// Save saves the result of an attempt and says how the attempt ended. Err is the error
	// of Do; if Do panicked, it is a fault.Bug around a [*Panic], and result is zero. Save
	// returns when the result is as durable as the Worker promises.
	Save(ctx context.Context, job J, result R, err error) (Ending, error)
}

// Attempt is one attempt at a job. Its functions may be called from the goroutine of Do for
// as long as Do runs; they are never nil.
type Attempt[J any] struct {
	Job    J
	Number int           // from 1, within this run
	Queued time.Duration // time since the previous attempt; for the first one, since the run began

	// Report reports what the job is doing, with an EventPhase, or that a call failed, with an
	// EventCallRetry. The job and the number are added. It is cheap.
	Report func(vocab.Event)

	// Reserve must be called before each paid call. It returns ErrBudget if the money is
	// spent: see Budget.Reserve.
	Reserve func(context.Context) (*Reservation, error)

	// Keep keeps a value for the next attempt at the job. Kept returns the value of an
	// earlier attempt, or nil; from then on, the Worker owns it. If no attempt takes it, it
	// is closed after the last one.
	Keep func(io.Closer)
	Kept func() io.Closer
}

// Panic is the value with which a Worker's Do panicked.
type Panic struct {
	Value any
	Stack string
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprint(p.Value) }

// run is one job that is running.
type run[J, R any] struct {
	*pool
	worker Worker[J, R]
	job    J
	name   string
	kept   keeper
}

// maxOutages limits how many failures of a job count as outages: a job with more failures
// may itself be the cause.
const maxOutages = 10

// maxBackoff is the longest wait between two attempts.
const maxBackoff = 2 * time.Minute

// unlessHalted makes attempts, unless the job is halted.
func (r *run[J, R]) unlessHalted(ctx context.Context) {
	ctx, end, ok := r.Halts.begin(ctx, r.name)
	defer end()
	if !ok {
		r.count(r.name, vocab.OutcomePending)
		return
	}
	r.attempts(ctx)
}

// attempts makes attempts until the job has a result, its failure is not
// retried, or the run is interrupted.
func (r *run[J, R]) attempts(ctx context.Context) {
	waiting := r.started
	waits := retry.Policy{First: min(r.Backoff, maxBackoff), Longest: maxBackoff}.Start()
	used := map[string]int{} // retries, by the name under which they are counted
	outages := 0
	defer func() {
		if err := r.kept.close(); err != nil {
			r.Log.Error("closing what a job kept", "job", r.name, "err", err)
		}
	}()
	for n := 1; ; n++ {
		r.Log.Info("attempt started", "job", r.name, "attempt", n)
		at := &reporter{pool: r.pool, job: r.name, attempt: n, last: vocab.Event{Type: vocab.EventPhase}}
		at.report(vocab.Event{Type: vocab.EventInstanceStart})
		result, err := r.attempt(ctx, at, time.Since(waiting))
		waiting = time.Now()
		end, saved := r.save(ctx, result, err)
		out := outages < maxOutages && r.Outage(err)
		kind, most := r.Retries.key(end)
		again := saved && (out || used[kind] < most) && !shared(err) && r.open() && ctx.Err() == nil
		var wait time.Duration
		if out {
			outages++
		} else {
			used[kind]++
			wait, _ = waits.Next(0)
		}
		r.Log.Info("attempt ended", "job", r.name, "attempt", n, "status", cmp.Or(end.Result, string(end.Status)), "outcome", end.Outcome,
			"steps", end.Steps, "cost", end.Cost, "again", again, "err", end.Error)
		if again {
			if end.Blame == "" { // there is nothing to wait for
				wait = 0
			}
			at.ended(vocab.EventInstanceRetry, end, wait)
			r.sleep(ctx, wait)
			again = r.held(ctx) && r.open() && ctx.Err() == nil
		}
		if !again {
			r.count(r.name, end.Outcome)
			at.ended(vocab.EventInstanceEnd, end, 0)
			return
		}
	}
}

// held waits for the end of a pause. It returns false if no further attempt may start.
func (r *run[J, R]) held(ctx context.Context) bool {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.admission, stop)()
	return r.Pause.wait(ctx) == nil
}

// attempt makes one attempt. A panic ends only this attempt.
func (r *run[J, R]) attempt(ctx context.Context, at *reporter, queued time.Duration) (result R, err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &Panic{Value: v, Stack: string(debug.Stack())}
			err = fault.New(fault.Bug, "panic while solving "+r.name, p)
			r.Log.Error("panic", "job", r.name, "err", err, "stack", p.Stack)
		}
	}()
	result, err = r.worker.Do(ctx, Attempt[J]{
		Job:     r.job,
		Number:  at.attempt,
		Queued:  queued,
		Report:  at.report,
		Reserve: at.reserve,
		Keep:    r.kept.keep,
		Kept:    r.kept.take,
	})
	if err != nil && ctx.Err() != nil {
		// A failure while the run is being stopped is caused by stopping it.
		r.Log.Info("attempt interrupted", "job", r.name, "attempt", at.attempt, "err", err)
		err = fmt.Errorf("interrupted: %w", context.Canceled)
	}
	return result, err
}

// save saves the result of an attempt, even if the run is being canceled: an interrupt must
// not lose work that was paid for. It stops the run if the attempt or the saving failed
// with a fault that all jobs share, or if the budget is spent.
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
	end.Outcome, end.Error = vocab.OutcomeInfrastructure, lost.Error()
	if fault.KindOf(lost) != fault.Instance { // an Instance fault does not concern the other jobs
		r.stop(lost)
	}
	return end, false
}

// keeper holds the value that one attempt leaves for the next.
type keeper struct{ held io.Closer }

func (k *keeper) keep(c io.Closer) { k.held = c }

func (k *keeper) take() io.Closer {
	held := k.held
	k.held = nil
	return held
}

// close closes a kept value that was not taken.
func (k *keeper) close() error {
	if held := k.take(); held != nil {
		return held.Close()
	}
	return nil
}
