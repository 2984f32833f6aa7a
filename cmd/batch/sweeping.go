package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/llm/limit"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/runner"
)

// sweeping is one sweep whose cells are known.
type sweeping struct {
	*app
	dir    string // the sweep's folder
	index  *sweeps.Index
	cells  []sweeps.Cell // those that run
	flags  []runFlags    // of the cells
	dryRun bool

	invocations []*invocation
	started     time.Time
}

// enterCells adds cells to the index of the sweep in dir, which may not exist yet.
func (a *app) enterCells(dir string, cells []sweeps.Cell) (x *sweeps.Index, chosen []sweeps.Cell, err error) {
	x, err = sweeps.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if list, _ := os.ReadDir(dir); len(list) > 0 {
			return nil, nil, fault.Newf(fault.Usage, "%s is not the folder of a sweep, and is not empty", dir).WithHint("choose another folder with `-o`")
		}
		x, err = &sweeps.Index{Created: time.Now().UTC()}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	x.Batch, x.Argv = run.Version(), config.MaskSpecs(a.args)
	x.Dir, _ = os.Getwd() // without it, relative paths are only right from here
	chosen = merge(x, cells)
	return x, chosen, checkMerged(x)
}

// cellRuns returns what the cells of a new sweep, or new cells of an old one, run.
func (a *app) cellRuns(dir string, cells []sweeps.Cell, each runFlags) ([]runFlags, error) {
	list := make([]runFlags, len(cells))
	for i, cell := range cells {
		r, err := run.CellRequest(dir, cell, a.process())
		if err != nil {
			return nil, err
		}
		list[i] = each
		list[i].Request, list[i].argv = r, cellArgv(cell, r.Output)
		asked := r
		list[i].asked = &asked
	}
	return list, nil
}

// cellArgv is the command line of a cell's run, for its manifest.
func cellArgv(cell sweeps.Cell, output string) []string {
	return config.MaskSpecs(append(slices.Clone(cell.Argv), "--output="+output))
}

// run opens the cells, works through them and prints how they ended.
func (s *sweeping) run(ctx context.Context) (err error) {
	s.started = time.Now()
	git := run.ProbeGit(ctx, s.flags[0].Dir)
	defer git.Stop()
	configs, err := s.configs(ctx, git)
	if err != nil {
		return err
	}
	if s.dryRun {
		return s.showPlan(ctx, configs)
	}
	if err := checkNetwork(ctx, configs[0]); err != nil {
		return err
	}
	if err := s.check(ctx, configs); err != nil {
		return err
	}
	if err := results.MakeDir(s.dir); err != nil {
		return err
	}
	config, err := s.sweepConfig(configs)
	if err != nil {
		return err
	}
	sweep, err := run.OpenSweep(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = s.also(err, sweep.Close()) }()
	if sweep.Todo() == 0 {
		s.tell(fmt.Sprintf("nothing to do: all instances of %s have a result", printable.Count(len(s.cells), "cell", "cells")))
		return s.conclude(sweep, nil)
	}
	return s.conclude(sweep, s.work(ctx, sweep))
}

// check refuses what the cells would refuse, before the index is changed.
func (s *sweeping) check(ctx context.Context, configs []run.Config) error {
	for i, c := range configs {
		c.Tell = func(string) {} // the run says it
		if _, err := run.NewPlan(ctx, c); err != nil {
			return s.named(i, err)
		}
	}
	return nil
}

// writeIndex writes the index, with the cells that another sweep has added meanwhile. The
// folder is locked.
func (s *sweeping) writeIndex() error {
	now, err := sweeps.Read(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		for _, c := range now.Cells {
			if find(s.index, c) < 0 {
				s.index.Cells = append(s.index.Cells, c)
			}
		}
	}
	if err := checkMerged(s.index); err != nil {
		return err
	}
	return s.index.Write(s.dir)
}

// first is the run of the first cell: what all have in common is its.
func (s *sweeping) first() *invocation { return s.invocations[0] }

// configs prepares the runs of all cells over one selection.
func (s *sweeping) configs(ctx context.Context, git *run.GitProbe) ([]run.Config, error) {
	common := s.flags[0]
	if common.retrying {
		common.Only = nil // each cell has its own
	}
	ds, selected, err := s.load(ctx, common.Request)
	if err != nil {
		return nil, err
	}
	if err := s.checkSelection(ds, selected); err != nil {
		return nil, err
	}
	quieter := *s.app
	quieter.stderr = &onceEach{w: s.stderr}
	list := make([]run.Config, len(s.cells))
	limits := new(limit.Pool)
	for i, f := range s.flags {
		chosen := selected
		if f.retrying {
			if chosen, err = (dataset.Selection{IDs: f.Only}).Apply(ds.Instances); err != nil {
				return nil, s.named(i, err)
			}
		}
		in, err := quieter.configured(f, git)
		if err == nil {
			err = in.Over(ds, chosen)
		}
		if err != nil {
			return nil, s.named(i, err)
		}
		in.Limits = limits
		if i > 0 {
			in.Workers, in.WidthWhy = s.first().Workers, s.first().WidthWhy
		}
		if i == 0 || in.Grade && !slices.ContainsFunc(s.flags[:i], func(f runFlags) bool { return f.Grade }) {
			in.Measure(ctx)
		}
		s.invocations = append(s.invocations, in)
		if list[i], err = in.config(); err != nil {
			return nil, s.named(i, err)
		}
		s.recordParameters(i)
	}
	share(list)
	return list, nil
}

// share gives all cells the widths of the first one that has them: cells that were added
// later may be graded where the first ones are not.
func share(list []run.Config) {
	var grading *runner.Width
	for i := range list {
		list[i].Width, list[i].WidthWhy = list[0].Width, ""
		if g := list[i].Grading; g != nil {
			grading = cmp.Or(grading, g.Width)
			g.Width = grading
		}
	}
}

// named returns the error of a cell with the cell's name.
func (s *sweeping) named(i int, err error) error {
	if len(s.cells) == 1 {
		return err
	}
	return fmt.Errorf("%s: %w", s.cells[i].Folder, err)
}

// checkSelection refuses a selection that differs from that of the sweep's other cells.
func (s *sweeping) checkSelection(ds *dataset.Dataset, selected []dataset.Instance) error {
	if s.flags[0].retrying || slices.Contains(s.flags[0].accept, "dataset") || slices.Contains(s.flags[0].accept, "all") {
		return nil
	}
	for _, cell := range s.index.Cells {
		m, err := run.ReadManifest(filepath.Join(s.dir, cell.Folder))
		if err != nil {
			continue // it has not begun
		}
		same := slices.EqualFunc(selected, m.Dataset.Instances, func(in dataset.Instance, id string) bool { return in.ID == id })
		if !same || ds.Digest != m.Dataset.Digest {
			return fault.Newf(fault.Usage, "%s has other instances than those selected now: %d of %s, not %d of %s", s.dir,
				m.Dataset.Count, m.Dataset.Title(), len(selected), titled(ds)).
				WithHint("all cells of a sweep run the same instances: choose another folder with `-o`, or accept the difference\nwith `--accept-changes=dataset`")
		}
	}
	return nil
}

// recordParameters notes in the index what attempts usually differ in.
func (s *sweeping) recordParameters(i int) {
	params := map[string]any{}
	for _, name := range []string{"seed", "temperature"} {
		if v, ok := s.invocations[i].Settings.Model.ModelKwargs[name]; ok {
			params[name] = v
		}
	}
	at := find(s.index, s.cells[i])
	s.index.Cells[at].Parameters = params
}

func (s *sweeping) sweepConfig(configs []run.Config) (c run.SweepConfig, err error) {
	c = run.SweepConfig{Dir: s.dir, CostLimit: s.index.CostLimit, Locked: s.writeIndex}
	mine := map[string]bool{}
	for i, cell := range s.cells {
		c.Cells = append(c.Cells, run.Cell{Name: cell.Folder, Config: configs[i]})
		mine[cell.Folder] = true
	}
	if c.CostLimit > 0 {
		c.Spent, err = s.index.Spent(s.dir, mine)
	}
	return c, err
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
		if err := ignoreClosed(d.Close()); err != nil && s.first().flags.json {
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
func (s *sweeping) resume() string { return "`batch resume " + printable.ShellWord(s.dir) + "`" }

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
		limit, spent := s.index.CostLimit, sweep.Spent()
		s.tell(fmt.Sprintf("limit of %v USD reached; raise --cost-limit-total to continue, such as `batch resume %s --cost-limit-total %v`",
			limit, printable.ShellWord(s.dir), report.HigherLimit(limit, spent)))
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
	status, err := readSweep(s.dir)
	if err != nil {
		return err
	}
	status.Dir = s.dir
	out := s.stdout
	if s.first().flags.json {
		out = s.stderr // standard output holds events only
	}
	if err := status.Write(out); err != nil {
		return ignoreClosed(err)
	}
	_, err = fmt.Fprintf(out, "\ncompare them   batch compare %s\nas a page      batch report %s -o report.html\n", printable.ShellWord(s.dir), printable.ShellWord(s.dir))
	return ignoreClosed(err)
}

// showPlan prints what the sweep would run.
func (s *sweeping) showPlan(ctx context.Context, configs []run.Config) error {
	t := printable.NewTable(s.stdout)
	t.Row("CELL", "MODEL", "FRESH", "RESUME", "RETRY", "KEEP", "GRADE")
	for i, c := range configs {
		plan, err := run.NewPlan(ctx, c)
		if err != nil {
			return s.named(i, err)
		}
		t.Row(s.cells[i].Folder, s.cells[i].Model, fmt.Sprint(plan.Count(run.Fresh)), fmt.Sprint(plan.Count(run.Resume)),
			fmt.Sprint(plan.Count(run.Retry)), fmt.Sprint(plan.Count(run.Keep)), fmt.Sprint(plan.Ungraded))
	}
	return t.Flush()
}
