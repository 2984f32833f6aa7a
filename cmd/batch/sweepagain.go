package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
)

// resumeSweep continues all cells of a sweep.
func (a *app) resumeSweep(ctx context.Context, dir string, own *pflag.FlagSet) error {
	s, err := a.againSweep(dir, own)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// retrySweep runs chosen instances of all cells again; cells without one are left as they are.
func (a *app) retrySweep(ctx context.Context, dir string, pick run.Choice, fresh bool, own *pflag.FlagSet) error {
	s, err := a.againSweep(dir, own)
	if err != nil {
		return err
	}
	var cells []sweeps.Cell
	var flags []runFlags
	var none error // of the first cell without such an instance
	for i, f := range s.flags {
		snap, err := sweeps.ReadCell(f.output)
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
		f.retrying, f.fresh, f.ids, f.named, f.whole = true, fresh, chosen, nil, nil
		cells, flags = append(cells, s.cells[i]), append(flags, f)
	}
	if len(cells) == 0 {
		if none == nil {
			none = fault.Newf(fault.Usage, "no cell of %s has begun", dir).WithHint("`batch resume` begins them")
		}
		return none
	}
	s.cells, s.flags = cells, flags
	return s.run(ctx)
}

// againSweep returns the sweep in dir with all its cells, as its index has them, with the
// flags that were given in own. The process changes to the directory in which the sweep was
// started.
func (a *app) againSweep(dir string, own *pflag.FlagSet) (*sweeping, error) {
	x, err := sweeps.Read(dir)
	if err != nil {
		return nil, err
	}
	abs, err := absolute(dir)
	if err != nil {
		return nil, err
	}
	if err := moveTo(x.Dir); err != nil { // on which the paths of the flags depend
		return nil, err
	}
	flags, err := cellFlags(abs, x.Cells, own)
	if err != nil {
		return nil, err
	}
	if len(flags) == 0 {
		return nil, fault.Newf(fault.Usage, "%s: its index has no cells", dir)
	}
	for i := range flags {
		f := &flags[i]
		f.dir = filepath.Join(dir, x.Cells[i].Folder)
		if f.instances != "" { // the file may have changed, or was standard input
			f.ids = selectionOf(abs, x)
		}
	}
	if own.Changed("cost-limit-total") {
		x.CostLimit = flags[0].totalCost
	}
	s := &sweeping{app: a, dir: abs, shown: dir, index: x, cells: x.Cells, flags: flags}
	if dry := own.Lookup("dry-run"); dry != nil {
		s.dryRun = dry.Value.String() == "true"
	}
	return s, nil
}

// selectionOf returns the instances of the first cell that has begun; nil: of none.
func selectionOf(dir string, x *sweeps.Index) []string {
	for _, path := range x.Dirs(dir) {
		if m, err := readManifest(path); err == nil {
			return m.Dataset.Instances
		}
	}
	return nil
}
