package main

import (
	"context"
	"log/slog"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/llm"
	"batch.example/batch/solver"
)

// engineHook asks the plan before each call to the engine; nil for no plan.
func engineHook(p *inject.Plan) func(call string) error {
	if p == nil {
		return nil
	}
	return func(call string) error { return p.At("engine." + call) }
}

// injected opens models whose calls and answers a plan may make fail.
func injected(open func(*slog.Logger, bool) (solver.Models, error), p *inject.Plan) func(*slog.Logger, bool) (solver.Models, error) {
	if p == nil {
		return open
	}
	return func(log *slog.Logger, proven bool) (solver.Models, error) {
		models, err := open(log, proven)
		if err != nil {
			return nil, err
		}
		return func(in dataset.Instance, heard int) (llm.Model, error) {
			m, err := models(in, heard)
			if err != nil {
				return nil, err
			}
			return injectedModel{m, p}, nil
		}, nil
	}
}

type injectedModel struct {
	llm.Model
	plan *inject.Plan
}

// Generate implements llm.Model. An answer that is made to fail is lost, as
// when the connection breaks behind its last byte.
func (m injectedModel) Generate(ctx context.Context, r *llm.Request) (*llm.Response, error) {
	if err := m.plan.At("model.call"); err != nil {
		return nil, &llm.Unpaid{Err: fault.New(fault.Transient, "calling the model", err)}
	}
	answer, err := m.Model.Generate(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := m.plan.At("model.answer"); err != nil {
		return nil, fault.New(fault.Transient, "reading the model's answer", err)
	}
	return answer, nil
}
