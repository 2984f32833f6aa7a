// Package library is what a user builds in a module of its own. It runs a model and an engine of its own, and
// names a type of every package that package batch promises to other programs.
package library

import (
	"context"
	"errors"
	"fmt"
	"os"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/report/compare"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/run"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// model submits at once.
type model struct{}

func (model) Generate(context.Context, *llm.Request) (*llm.Response, error) {
	call := llm.ToolCall{ID: "1", Name: "bash", Arguments: `{"command":"echo ` + vocab.Marker + `"}`}
	return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("Done.", call)}, Usage: vocab.Usage{Input: 1, Output: 1}}, nil
}

// printer prints the commands of an attempt.
type printer struct{ instance string }

func (p printer) Event(e agent.Event) {
	if e.Type == agent.EventAction {
		fmt.Println(p.instance, e.Command)
	}
}

func (p printer) End(r results.Record) { fmt.Println(p.instance, r.Outcome, r.Grade != nil) }

// shared is an engine that creates no more containers while it is full.
type shared struct {
	engine.Engine
	full func() bool
}

func (s shared) Create(ctx context.Context, spec engine.Spec) (engine.Container, error) {
	if s.full() {
		return nil, fault.Newf(fault.Transient, "the machine is full")
	}
	return s.Engine.Create(ctx, spec)
}

// Work runs the demo with this model and this engine.
func Work(ctx context.Context) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	request := run.NewRequest()
	request.Subset, request.Model, request.Output = "demo", "scripted/demo", "runs/mine"
	setup, err := run.NewSetup(request, run.NewProcess(os.Args[1:], os.Environ(), home))
	if err != nil {
		return err
	}
	c, err := setup.Load(ctx)
	if err != nil {
		return err
	}
	var settings *config.Config = c.Settings
	var about manifest.Manifest = c.About
	fmt.Println(settings.Model.ModelName, about.Dataset.Name)
	for i, e := range c.Sandboxes.Engines {
		c.Sandboxes.Engines[i].Connect = func(ctx context.Context, o engine.Options) (engine.Engine, error) {
			own, err := e.Connect(ctx, o)
			return shared{own, func() bool { return false }}, err
		}
	}
	c.Model = run.Model{Name: "mine", Open: func(bool) (attempt.Models, error) {
		return func(dataset.Instance, int) (llm.Model, error) { return model{}, nil }, nil
	}}
	c.Listen = func(in dataset.Instance, _ int) attempt.Listener { return printer{in.ID} }
	r, err := run.Open(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(r.Work(ctx, nil, nil), r.Close())
}

// Compared compares a run directory with nothing.
func Compared(dir string, source dataset.Source) (compare.Comparison, grades.Grade, error) {
	var own llm.Model = model{}
	snapshot, err := results.Read(dir)
	if err != nil && fault.KindOf(err) != fault.Usage {
		return compare.Comparison{}, grades.Grade{}, fmt.Errorf("%v: %w", own, err)
	}
	for _, r := range snapshot.Records {
		fmt.Println(source, r.InstanceID)
	}
	return compare.New([]scores.Side{}, compare.Options{}), grades.Grade{}, nil
}
