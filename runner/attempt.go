package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
)

// attempt makes one try and always returns a result that can be stored.
func (r *run) attempt(ctx context.Context, in dataset.Instance, try int, queued time.Duration, kept *keeper) (result *results.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Newf(fault.Bug, "panic while solving %s: %v", in.ID, p).
				WithHint("this is a bug of batch; the stack is in the trajectory")
			result = failed(in.ID, result, err)
			result.Info.Traceback = string(debug.Stack())
			r.Log.Error("panic", "instance", in.ID, "err", err, "stack", result.Info.Traceback)
		}
	}()
	result, err = r.solver.Solve(ctx, Attempt{
		Instance: in,
		Try:      try,
		Queued:   queued,
		Report: func(p Progress) {
			r.OnEvent(Event{Type: EventPhase, Instance: in.ID, Try: try, Progress: p})
		},
		Reserve: r.Budget.Reserve,
		Keep:    kept.keep,
		Kept:    kept.take,
	})
	if err == nil && result == nil {
		err = fault.Newf(fault.Bug, "solving %s: neither result nor error", in.ID)
	}
	if err != nil && ctx.Err() != nil {
		// Whatever broke while everything was being told to stop broke because of it.
		r.Log.Info("stopped", "instance", in.ID, "try", try, "err", err)
		err = fmt.Errorf("told to stop: %w", context.Canceled)
	}
	if err != nil {
		result = failed(in.ID, result, err)
	}
	return result, err
}

// keeper holds what one try leaves for the next.
type keeper struct{ held io.Closer }

func (k *keeper) keep(c io.Closer) { k.held = c }

func (k *keeper) take() io.Closer {
	held := k.held
	k.held = nil
	return held
}

// close closes what no try took.
func (k *keeper) close() error {
	if held := k.take(); held != nil {
		return held.Close()
	}
	return nil
}

// failed marks what is known of an attempt with the blame of err.
func failed(id string, known *results.Result, err error) *results.Result {
	if known == nil {
		known = &results.Result{Record: results.Record{InstanceID: id}}
	}
	rec := &known.Record
	rec.Error = err.Error()
	switch kind := fault.KindOf(err); {
	case errors.Is(err, ErrBudget):
		rec.Outcome, rec.Status = results.Pending, "BudgetExceeded"
	case fault.Canceled(err):
		rec.Outcome, rec.Status = results.Pending, "Interrupted"
	default:
		rec.Outcome, rec.Status, rec.Blame = results.Infrastructure, kind.Status(), kind.String()
		if hint := fault.HintOf(err); hint != "" {
			rec.Error = fmt.Sprintf("%s (%s)", rec.Error, hint)
		}
	}
	known.Info.ExitStatus, known.Info.Exception = rec.Status, rec.Error
	return known
}
