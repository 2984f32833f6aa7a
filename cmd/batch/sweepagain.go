package main

import (
	"context"

	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
)

// resumeSweep continues all cells of a sweep.
func (a *app) resumeSweep(ctx context.Context, dir string, own runFlags, flags *pflag.FlagSet) error {
	s, err := a.againSweep(dir, own, flags)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// retrySweep runs chosen instances of all cells again; cells without one are left as they are.
func (a *app) retrySweep(ctx context.Context, dir string, pick run.Choice, own runFlags, flags *pflag.FlagSet) error {
	s, err := a.againSweep(dir, own, flags)
	if err != nil {
		return err
	}
	var cells []sweeps.Cell
	var runs []runFlags
	var none error // of the first cell without such an instance
	for i, f := range s.flags {
		snap, err := sweeps.ReadCell(f.Output)
		if err != nil {
			return err
		}
		if snap == nil {
			continue
		}
		chosen, err := pick.From(snap)
		if err != nil {
			if none == nil {
				none = err
			}
			continue
		}
		f.retrying, f.Only, f.Named = true, chosen, nil
		cells, runs = append(cells, s.cells[i]), append(runs, f)
	}
	if len(cells) == 0 {
		if none == nil {
			none = fault.Newf(fault.Usage, "no cell of %s has begun", dir).WithHint("`batch resume` begins them")
		}
		return none
	}
	s.cells, s.flags = cells, runs
	return s.run(ctx)
}

// againSweep returns the sweep in dir with all its cells, as its index has them, with the values
// that were given in flags, which own has, over those of the cells.
func (a *app) againSweep(dir string, own runFlags, flags *pflag.FlagSet) (*sweeping, error) {
	x, err := sweeps.Read(dir)
	if err == nil {
		err = own.check()
	}
	if err != nil {
		return nil, err
	}
	if len(x.Cells) == 0 {
		return nil, fault.Newf(fault.Usage, "%s: its index has no cells", dir)
	}
	only := selectionOf(dir, x)
	runs := make([]runFlags, len(x.Cells))
	for i, cell := range x.Cells {
		r, err := run.CellRequest(dir, cell, a.process())
		if err != nil {
			return nil, err
		}
		where, err := absolute(r.Output)
		if err != nil {
			return nil, err
		}
		asked := r
		f := own
		f.Request = over(r, own.Request, flags)
		if f.InstancesFile != "" { // the file may have changed, or was standard input
			f.Only = only
		}
		f.settled, f.asked, f.argv = true, &asked, cellArgv(cell, where)
		runs[i] = f
	}
	if flags.Changed("cost-limit-total") {
		x.CostLimit = own.CostLimit
	}
	return &sweeping{app: a, dir: dir, index: x, cells: x.Cells, flags: runs, dryRun: own.dryRun}, nil
}

// selectionOf returns the instances of the first cell that has begun; nil: of none.
func selectionOf(dir string, x *sweeps.Index) []string {
	for _, path := range x.Dirs(dir) {
		if m, err := run.ReadManifest(path); err == nil {
			return m.Dataset.Instances
		}
	}
	return nil
}
