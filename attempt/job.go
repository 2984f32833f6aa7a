package attempt

import (
	"context"
	"errors"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// Name implements runner.Worker.
func (s *Solver) Name(in dataset.Instance) string { return in.ID }

// Save implements runner.Worker: it stores the result, classified by err.
func (s *Solver) Save(ctx context.Context, in dataset.Instance, result *results.Result, err error) (runner.Ending, error) {
	if err == nil && result == nil {
		err = fault.Newf(fault.Bug, "solving %s: neither result nor error", in.ID)
	}
	if err != nil {
		result = failed(in.ID, result, err)
	}
	rec := &result.Record
	made, lost := s.c.Store.Put(ctx, result)
	if lost != nil {
		rec.Outcome = vocab.OutcomeInfrastructure
	}
	s.ended(*rec)
	end := runner.Ending{
		Status: rec.Status, Blame: rec.Blame, Outcome: rec.Outcome,
		Error: rec.Error, Steps: rec.Steps, Cost: rec.Cost,
	}
	if s.c.Saved != nil {
		s.c.Saved(in, made)
	}
	return end, lost
}

// failed returns the known result of a failed attempt, classified by err.
func failed(id string, known *results.Result, err error) *results.Result {
	if known == nil {
		known = &results.Result{Record: results.Record{InstanceID: id}}
	}
	if p, ok := errors.AsType[*runner.Panic](err); ok {
		known.Notes.Traceback = p.Stack
		err = fault.New(fault.Bug, "", err).WithHint("this is a bug of batch; the stack is in the trajectory")
	}
	rec, end := &known.Record, runner.EndingOf(err)
	rec.Outcome, rec.Status, rec.Blame, rec.Error = end.Outcome, end.Status, end.Blame, end.Error
	if rec.Steps == 0 && refused(err) {
		rec.Outcome, rec.Status = vocab.OutcomePending, vocab.StatusNotRun
	}
	return known
}

// refused reports whether the provider refuses all calls of the run, for example because of
// the key, and charged nothing for this one.
func refused(err error) bool {
	_, unpaid := errors.AsType[*llm.Unpaid](err)
	return unpaid && llm.Lost(err) == 0 && fault.KindOf(err) == fault.Host
}
