package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/progress"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/solver"
)

// sweep is the part of `batch run` that starts things.
func (a *app) sweep(ctx context.Context, f runFlags, cfg *config.Config, ds *dataset.Dataset, selected []dataset.Instance) (err error) {
	loop, err := agent.NewLoop(cfg.Loop())
	if err != nil {
		return err
	}
	store, err := results.Open(f.output, results.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, told := range store.Recovered() {
		fmt.Fprintln(a.stderr, "batch: "+told)
	}
	manifest := a.manifest(f, cfg, ds, selected)
	if err := reconcile(store, manifest, f); err != nil {
		return err
	}
	logFile, err := os.OpenFile(filepath.Join(f.output, "batch.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fault.New(fault.Host, "opening the run's log", err)
	}
	defer logFile.Close()

	todo, err := pending(store, selected, f.redo)
	if err != nil {
		return err
	}
	if len(todo) == 0 {
		return a.conclude(f, store, selected, runner.Summary{}, nil)
	}
	d := a.newDisplay(f.quiet, f.json, len(todo), f.workers)
	log := d.logger(logFile)
	model, err := a.modelFactory(cfg.Model, log)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	connection := docker.FromEnv(a.getenv, a.home)
	connection.Log = log
	engine, err := docker.Connect(ctx, connection)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	defer engine.Close()

	if err := store.WriteManifest(manifest); err != nil {
		return errors.Join(err, d.Close())
	}
	ctx, sig, stop := watchSignals(ctx, d.say)
	defer stop()
	boxes := a.newSandboxes(engine, cfg.Environment, f.imagePrefix)
	boxes.pulled = func(instance string, p docker.PullProgress) {
		d.Event(progress.Event{Time: time.Now(), Type: "pull", Instance: instance, Bytes: p.Done, BytesTotal: p.Total})
	}
	solve := solver.New(solver.Config{
		Loop: loop, Model: model, ModelName: cfg.Model.Name, Sandboxes: boxes, Store: store,
		Startup: cfg.Startup(), Settings: cfg.Resolved(), Version: version(),
	})
	d.Event(progress.Event{Time: time.Now(), Type: "run_start", Total: len(todo)})
	sum, runErr := runner.Run(ctx, runner.Config{
		Workers: f.workers, Tries: f.tries, Drain: sig.drain, OnEvent: d.show, Log: log,
		Budget: runner.NewBudget(f.totalCost, store.Spent()),
	}, todo, solve, store)
	d.Event(progress.Event{Time: time.Now(), Type: "run_end", Done: sum.Final, Total: len(todo), Cost: store.Spent()})
	if err := d.Close(); err != nil {
		return err
	}
	if sum.Budget {
		fmt.Fprintf(a.stderr, "batch: the cost limit of %.2f USD is reached; a higher --cost-limit-total goes on from here\n", f.totalCost)
	}
	if runErr == nil && sig.drained.Load() && sum.Pending > 0 {
		runErr = errInterrupted
	}
	return a.conclude(f, store, selected, sum, runErr)
}

// pending returns the instances that have no result yet, in order.
func pending(store *results.Store, selected []dataset.Instance, redo bool) ([]dataset.Instance, error) {
	if redo {
		ids := make([]string, len(selected))
		for i, in := range selected {
			ids[i] = in.ID
		}
		return selected, store.Reset(ids)
	}
	var todo []dataset.Instance
	for _, in := range selected {
		if _, done := store.Finished(in.ID); !done {
			todo = append(todo, in)
		}
	}
	return todo, nil
}

// conclude prints the table and chooses how the command ends.
func (a *app) conclude(f runFlags, store *results.Store, selected []dataset.Instance, sum runner.Summary, runErr error) error {
	if err := store.Close(); err != nil {
		return errors.Join(runErr, err)
	}
	ids := make([]string, len(selected))
	missing := 0
	for i, in := range selected {
		ids[i] = in.ID
		if _, done := store.Finished(in.ID); !done {
			missing++
		}
	}
	var out io.Writer = a.stdout
	if f.json {
		out = a.stderr // standard output holds events only
	}
	if err := report.Summary(out, report.SummaryData{
		Dir: f.output, Selected: ids, Records: store.Records(), Spent: store.Spent(),
	}); err != nil {
		return errors.Join(runErr, err)
	}
	if runErr == nil && missing > 0 {
		return errIncomplete
	}
	return runErr
}
