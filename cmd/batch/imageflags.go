package main

import (
	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
)

// imageFlags are the flags of `batch run` that say how images are dealt with.
type imageFlags struct {
	diskBudget string
	budget     int64 // diskBudget, read by check
	prefetch   int
	pulls      int
	order      string
}

const (
	orderGrouped = "grouped"
	orderGiven   = "given"
)

func (f *imageFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.diskBudget, "disk-budget", "", "disk that the images batch pulled may take, such as 100GB; beyond it, those needed\nleast are evicted (default: no limit, but for a disk that runs low)")
	fs.IntVar(&f.prefetch, "prefetch", 4, "images to pull ahead of the instances that need them")
	fs.StringVar(&f.order, "order", orderGrouped, "order of the instances: grouped (those that share images near each other) or given")
	addPulls(c, &f.pulls)
	_ = c.RegisterFlagCompletionFunc("order", cobra.FixedCompletions([]string{orderGrouped, orderGiven}, cobra.ShellCompDirectiveNoFileComp))
}

func addPulls(c *cobra.Command, pulls *int) {
	c.Flags().IntVar(pulls, "pulls", 4, "images pulled at the same time")
}

func checkPulls(pulls int) error {
	if pulls < 1 {
		return fault.Newf(fault.Usage, "--pulls %d: at least one is needed", pulls)
	}
	return nil
}

// check reads the flags.
func (f *imageFlags) check() (err error) {
	if f.budget, err = parseSize("disk-budget", f.diskBudget); err != nil {
		return err
	}
	if f.prefetch < 0 {
		return fault.Newf(fault.Usage, "--prefetch %d: expected a number of images", f.prefetch)
	}
	if f.order != orderGrouped && f.order != orderGiven {
		return fault.Newf(fault.Usage, "--order %s: expected %s or %s", f.order, orderGrouped, orderGiven)
	}
	return checkPulls(f.pulls)
}

// ordered returns list in the order in which it is to run.
func (f *runFlags) ordered(list []dataset.Instance) []dataset.Instance {
	if f.order == orderGiven {
		return list
	}
	return grouped(list, f.imagePrefix)
}
