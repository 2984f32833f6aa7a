package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/run"
	"batch.example/batch/run/sweep"
)

// sweeping is one sweep after its cells are known.
type sweeping struct {
	*app
	*sweep.Setup
	flags runFlags // of this command alone

	invocations []*invocation // of the cells
	started     time.Time
}

// runSweep opens the cells, works through them and prints how they ended.
func (a *app) runSweep(ctx context.Context, setup *sweep.Setup, f runFlags) (err error) {
	if err := checkAccept(f.Accept); err != nil {
		return err
	}
	if apart, err := a.detached(f.apart, f.dryRun, f.InstancesFile); apart || err != nil {
		return err
	}
	s := &sweeping{app: a, Setup: setup, flags: f, started: time.Now()}
	s.Accept, s.Redo, s.Fresh = f.Accept, f.Redo, f.Fresh
	if err := s.underControl(); err != nil {
		return err
	}
	if _, err := inject.Parse(f.inject); err != nil { // each cell has a plan of its own
		return err
	}
	git := run.ProbeGit(ctx, s.Cells[0].Run.Dir)
	defer git.Stop()
	if err := s.Load(ctx, git.Known); err != nil {
		return a.unlessEmpty(err)
	}
	var named []string
	for _, c := range s.Cells {
		named = append(named, c.Setup.Named(f.given("engine"))...)
	}
	if err := a.trusted(&f, s.Dir, named); err != nil {
		return err
	}
	part, err := s.Shard()
	if err != nil {
		return err
	}
	s.sayShare(s.Index.CostLimit, part)
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
	for i, in := range s.invocations {
		stop, err := in.startTelemetry(ctx, work.Runs()[i])
		if err != nil {
			return err
		}
		defer stop()
	}
	return s.conclude(work, s.session().work(ctx, work))
}

// session returns how the sweep is worked on.
func (s *sweeping) session() session {
	first := s.invocations[0] // what all cells have in common
	one := first.session()
	one.about.Directory, one.about.Total, one.about.Model = s.Dir, 0, s.models()
	for _, in := range s.invocations {
		one.about.Total += len(in.Instances)
	}
	one.again = "`batch resume " + printable.ShellWord(s.Dir) + "`"
	return one
}

// models names the models of the cells.
func (s *sweeping) models() string {
	var names []string
	for _, c := range s.Cells {
		if !slices.Contains(names, c.Model) {
			names = append(names, c.Model)
		}
	}
	return strings.Join(names, ", ")
}

// complete adds the process's parts to the run of a cell.
func (s *sweeping) complete(i int, c *run.Config) error {
	plan, err := inject.Parse(s.flags.inject)
	if err != nil {
		return err
	}
	in := &invocation{app: s.app, Setup: s.Cells[i].Setup, flags: s.flags, inject: plan, started: s.started}
	s.invocations = append(s.invocations, in)
	return in.complete(c)
}

// conclude prints the table and chooses how the command ends.
func (s *sweeping) conclude(sweep *run.Sweep, ended error) error {
	return s.session().conclude(sweep, ended, func(out io.Writer) (missing int, err error) {
		err = s.summarize(out)
		budget := false
		for _, r := range sweep.Runs() {
			sum := r.Summary()
			missing += sum.Missing + sum.Ungraded
			budget = budget || sum.Budget
		}
		if budget {
			part, err := s.Shard()
			if err != nil {
				return missing, err
			}
			limit, at := limitNow(s.Dir, s.Index.CostLimit, part), sweep.Runs()[0].Summary().Stand
			s.tell(fmt.Sprintf("%s; raise --cost-limit-total to continue, such as `batch resume %s --cost-limit-total %v`",
				reached(limit, part, at), printable.ShellWord(s.Dir), report.HigherLimit(limit, at.Spent)))
		}
		return missing, err
	})
}

// summarize prints the table of the sweep's cells.
func (s *sweeping) summarize(out io.Writer) error {
	status, err := readSweep(s.Dir)
	if err != nil {
		return err
	}
	status.Dir = s.Dir
	if err := status.Write(out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\ncompare them   batch compare %s\nas a page      batch report %s -o report.html\n", printable.ShellWord(s.Dir), printable.ShellWord(s.Dir))
	return err
}

// showPlan prints what the sweep would run.
func (s *sweeping) showPlan(ctx context.Context, configs []run.Config) error {
	var t printable.Table
	t.Row("CELL", "MODEL", "FRESH", "RESUME", "RETRY", "KEEP", "GRADE")
	for i, c := range configs {
		plan, err := s.Plan(ctx, i, c)
		if err != nil {
			return err
		}
		t.Row(s.Cells[i].Folder, s.Cells[i].Model, fmt.Sprint(plan.Count(run.Fresh)), fmt.Sprint(plan.Count(run.Resume)),
			fmt.Sprint(plan.Count(run.Retry)), fmt.Sprint(plan.Count(run.Keep)), fmt.Sprint(plan.Ungraded))
	}
	return t.Write(s.stdout)
}
