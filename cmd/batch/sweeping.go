package main

import (
	"context"
	"fmt"
	"time"

	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/run"
	"batch.example/batch/run/sweep"
)

// sweeping is one sweep whose cells are known.
type sweeping struct {
	*app
	*sweep.Setup
	flags runFlags // what is of this command alone

	invocations []*invocation // of the cells
	started     time.Time
}

// runSweep opens the cells, works through them and prints how they ended.
func (a *app) runSweep(ctx context.Context, setup *sweep.Setup, f runFlags) (err error) {
	s := &sweeping{app: a, Setup: setup, flags: f, started: time.Now()}
	s.Accept = f.accept
	if _, err := inject.Parse(f.inject); err != nil { // each cell has a plan of its own
		return err
	}
	git := run.ProbeGit(ctx, s.Cells[0].Run.Dir)
	defer git.Stop()
	if err := s.Load(ctx, git.Known); err != nil {
		return err
	}
	configs, err := s.Configs(s.complete)
	if err != nil {
		return err
	}
	if f.dryRun {
		return s.showPlan(ctx, configs)
	}
	if err := checkNetwork(ctx, configs[0]); err != nil {
		return err
	}
	work, err := s.Open(ctx, configs)
	if err != nil {
		return err
	}
	defer func() { err = s.also(err, work.Close()) }()
	if work.Todo() == 0 {
		s.tell(fmt.Sprintf("nothing to do: all instances of %s have a result", printable.Count(len(s.Cells), "cell", "cells")))
		return s.conclude(work, nil)
	}
	return s.conclude(work, s.work(ctx, work))
}

// first is the run of the first cell: what all have in common is its.
func (s *sweeping) first() *invocation { return s.invocations[0] }

// complete adds to the run of a cell what belongs to the process.
func (s *sweeping) complete(i int, c *run.Config) error {
	plan, err := inject.Parse(s.flags.inject)
	if err != nil {
		return err
	}
	in := &invocation{app: s.app, Setup: s.Cells[i].Setup, flags: s.flags, inject: plan, started: s.started}
	s.invocations = append(s.invocations, in)
	return in.complete(c)
}

// work does what is left to do, and shows it.
func (s *sweeping) work(ctx context.Context, sweep *run.Sweep) error {
	for i, in := range s.invocations {
		stop, err := in.startTelemetry(ctx, sweep.Runs()[i])
		if err != nil {
			return err
		}
		defer stop()
	}
	d := s.newDisplay(sweep)
	defer func() { // a display that cannot be written to must not fail the run
		if err := ignoreClosed(d.Close()); err != nil && s.flags.json {
			s.tell(fmt.Sprintf("not all events were written: %v", err))
		}
	}()
	ctx, sig, stop := watchSignals(ctx, d.Say, s.stderr, "saving the work of running instances and removing their containers", s.resume())
	defer stop()
	d.begin()
	err := sweep.Work(ctx, sig.drain, d)
	d.end()
	if err == nil && sig.drained.Load() {
		for _, r := range sweep.Runs() {
			if sum := r.Summary(); sum.Pending+sum.Waiting > 0 {
				return errInterrupted
			}
		}
	}
	return err
}

// resume is the command that continues the sweep.
func (s *sweeping) resume() string { return "`batch resume " + printable.ShellWord(s.Dir) + "`" }

// conclude prints the table and chooses how the command ends.
func (s *sweeping) conclude(sweep *run.Sweep, runErr error) error {
	missing, budget := 0, false
	for _, r := range sweep.Runs() {
		if err := r.Close(); err != nil {
			runErr = s.also(runErr, err)
		}
		sum := r.Summary()
		missing += sum.Missing + sum.Ungraded
		budget = budget || sum.Budget
	}
	if err := s.summarize(); err != nil {
		return s.also(runErr, err)
	}
	if budget {
		limit, spent := s.Index.CostLimit, sweep.Spent()
		s.tell(fmt.Sprintf("limit of %v USD reached; raise --cost-limit-total to continue, such as `batch resume %s --cost-limit-total %v`",
			limit, printable.ShellWord(s.Dir), report.HigherLimit(limit, spent)))
	}
	switch {
	case interrupted(runErr):
		s.tell("interrupted; continue with " + s.resume())
		return errInterrupted
	case runErr != nil:
		return runErr
	case missing > 0:
		return errIncomplete
	}
	return nil
}

// summarize prints the table of the sweep's cells.
func (s *sweeping) summarize() error {
	status, err := readSweep(s.Dir)
	if err != nil {
		return err
	}
	status.Dir = s.Dir
	out := s.stdout
	if s.flags.json {
		out = s.stderr // standard output holds events only
	}
	if err := status.Write(out); err != nil {
		return ignoreClosed(err)
	}
	_, err = fmt.Fprintf(out, "\ncompare them   batch compare %s\nas a page      batch report %s -o report.html\n", printable.ShellWord(s.Dir), printable.ShellWord(s.Dir))
	return ignoreClosed(err)
}

// showPlan prints what the sweep would run.
func (s *sweeping) showPlan(ctx context.Context, configs []run.Config) error {
	t := printable.NewTable(s.stdout)
	t.Row("CELL", "MODEL", "FRESH", "RESUME", "RETRY", "KEEP", "GRADE")
	for i, c := range configs {
		plan, err := s.Plan(ctx, i, c)
		if err != nil {
			return err
		}
		t.Row(s.Cells[i].Folder, s.Cells[i].Model, fmt.Sprint(plan.Count(run.Fresh)), fmt.Sprint(plan.Count(run.Resume)),
			fmt.Sprint(plan.Count(run.Retry)), fmt.Sprint(plan.Count(run.Keep)), fmt.Sprint(plan.Ungraded))
	}
	return t.Flush()
}
