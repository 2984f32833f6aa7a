package main

import (
	"context"

	"github.com/spf13/pflag"

	"batch.example/batch/run"
	"batch.example/batch/run/sweep"
)

// continueSweep continues all cells of a sweep. With pick, only cells with instances of pick
// continue, and these instances run again. Flags that were given replace the cells' values; own
// has their values.
func (a *app) continueSweep(ctx context.Context, dir string, pick *run.Choice, own runFlags, flags *pflag.FlagSet) error {
	if err := own.check(); err != nil {
		return err
	}
	s, err := sweep.Read(dir, a.process())
	if err != nil {
		return err
	}
	for i := range s.Cells {
		s.Cells[i].Run = over(s.Cells[i].Run, own.Request, flags)
	}
	if flags.Changed("cost-limit-total") {
		s.LimitCost(own.CostLimit)
	}
	own.given, own.settled = flags.Changed, true
	if pick != nil {
		if err := s.Retry(*pick); err != nil {
			return err
		}
	}
	return a.runSweep(ctx, s, own)
}
