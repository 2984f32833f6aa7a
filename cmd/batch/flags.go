package main

import (
	"errors"
	"strconv"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/run"
)

// imageFlags are the flags of `batch run` that say how images are dealt with.
type imageFlags struct {
	diskBudget string
	budget     int64 // diskBudget, read by check
	prefetch   int
	order      string
	pullFlags
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
	f.pullFlags.add(c)
	_ = c.RegisterFlagCompletionFunc("order", cobra.FixedCompletions([]string{orderGrouped, orderGiven}, cobra.ShellCompDirectiveNoFileComp))
}

// pullFlags are those that every pull heeds.
type pullFlags struct {
	pulls       int
	diskReserve string
	reserve     int64 // diskReserve, read by check
}

func (f *pullFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.pulls, "pulls", 4, "images pulled at the same time")
	c.Flags().StringVar(&f.diskReserve, "disk-reserve", "1GB", "disk to leave free where the engine keeps its data")
}

func (f *pullFlags) check() (err error) {
	if f.pulls < 1 {
		return fault.Newf(fault.Usage, "--pulls %d: at least one is needed", f.pulls)
	}
	f.reserve, err = parseSize("disk-reserve", f.diskReserve)
	return err
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
	return f.pullFlags.check()
}

// ordered returns list in the order in which it is to run.
func (f *runFlags) ordered(list []dataset.Instance) []dataset.Instance {
	if f.order == orderGiven {
		return list
	}
	return run.ByImage(list, f.imagePrefix)
}

// parseSize reads a number of bytes as people write it: 50GB, 500m; 0 or
// nothing is none.
func parseSize(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := units.FromHumanSize(text)
	if err != nil || n < 0 {
		return 0, fault.Newf(fault.Usage, "--%s %s: expected a size such as 50GB", flag, text)
	}
	return n, nil
}

// width is the value of --workers: a number, or "auto" until it is resolved.
type width struct {
	n    int
	auto bool
	why  string // what auto was resolved by, for a person
}

// Set implements pflag.Value.
func (w *width) Set(s string) error {
	if s == "auto" {
		*w = width{auto: true}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("expected a number or auto")
	}
	*w = width{n: n}
	return nil
}

// String implements pflag.Value.
func (w *width) String() string {
	if w.auto {
		return "auto"
	}
	return strconv.Itoa(w.n)
}

// Type implements pflag.Value.
func (w *width) Type() string { return "N|auto" }
