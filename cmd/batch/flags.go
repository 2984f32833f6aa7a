package main

import (
	"errors"
	"slices"
	"strconv"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/results/manifest"
)

// imageFlags are the flags of `batch run` about images.
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
	fs.StringVar(&f.diskBudget, "disk-budget", "", "disk space for the images that batch pulled, such as 100GB; beyond it, those needed least\nare removed (default: no limit, unless the disk runs low)")
	fs.IntVar(&f.prefetch, "prefetch", 4, "number of images to pull before the instances that need them start")
	fs.StringVar(&f.order, "order", orderGrouped, "order of the instances: grouped (those that share images run near each other) or given")
	f.pullFlags.add(c)
}

// imageSection is the section of what several commands add.
const imageSection = "Images and disk"

// pullFlags are the flags of every command that pulls images.
type pullFlags struct {
	pulls       int
	diskReserve string
	reserve     int64 // diskReserve, read by check
}

func (f *pullFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.pulls, "pulls", 4, "number of images to pull at the same time")
	c.Flags().StringVar(&f.diskReserve, "disk-reserve", "1GB", "disk space to leave free where the engine keeps its data")
	inSection(c.Flags(), imageSection)
}

func (f *pullFlags) check() (err error) {
	if f.pulls < 1 {
		return fault.Newf(fault.Usage, "--pulls %d: expected at least 1", f.pulls)
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
		return fault.Newf(fault.Usage, "--prefetch %d: expected a number of images, 0 or more", f.prefetch)
	}
	if f.order != orderGrouped && f.order != orderGiven {
		return fault.Newf(fault.Usage, "--order %s: expected %s or %s", f.order, orderGrouped, orderGiven)
	}
	return f.pullFlags.check()
}

// narrow keeps those of the selected instances that were named as arguments, and adds the
// instances of the directory's selection.
func (f *runFlags) narrow(ds *dataset.Dataset, selected []dataset.Instance) ([]dataset.Instance, error) {
	if len(f.named) > 0 && slices.Equal(f.accept, []string{"all"}) && checkAccept(f.named[:1]) == nil {
		if _, err := (dataset.Selection{IDs: f.named[:1]}).Apply(ds.Instances); err != nil {
			return nil, fault.Newf(fault.Usage, "%q is not an instance of %s", f.named[0], titled(ds)).
				WithHint("did you mean `--accept-changes=%s`?", f.named[0])
		}
	}
	kept, err := narrow(ds, selected, f.named)
	if err != nil || len(f.whole) == 0 {
		return kept, err
	}
	keep := map[string]bool{}
	for _, in := range kept {
		keep[in.ID] = true
	}
	for _, id := range f.whole {
		keep[id] = true
	}
	all, err := (dataset.Selection{Shuffle: f.shuffle, Seed: f.seed}).Apply(ds.Instances)
	return slices.DeleteFunc(all, func(in dataset.Instance) bool { return !keep[in.ID] }), err
}

// narrow keeps those of the selected instances that are named, if any are.
func narrow(ds *dataset.Dataset, selected []dataset.Instance, named []string) ([]dataset.Instance, error) {
	if len(named) == 0 {
		return selected, nil
	}
	if _, err := (dataset.Selection{IDs: named}).Apply(ds.Instances); err != nil {
		if slices.Contains(dataset.ShortNames(), named[0]) {
			return nil, fault.Newf(fault.Usage, "%q is not an instance of %s", named[0], titled(ds)).
				WithHint("did you mean `--subset %s`?", named[0])
		}
		return nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(selected), func(in dataset.Instance) bool { return !slices.Contains(named, in.ID) })
	if len(kept) == 0 {
		return nil, fault.Newf(fault.Usage, "selecting instances: the flags leave none of those named, such as %s", named[0]).
			WithHint("arguments narrow what --filter, --slice, --instances and --shard select: leave these out to run what you name")
	}
	return kept, nil
}

// checkAccept refuses names that no difference between manifests can have.
func checkAccept(accepted []string) error {
	if len(accepted) == 0 {
		return nil
	}
	var keys []string
	for _, k := range config.Keys() {
		keys = append(keys, k.Path)
	}
	for _, name := range accepted {
		if manifest.IsName(name, keys) {
			continue
		}
		err := fault.Newf(fault.Usage, "--accept-changes %s: unknown name", name)
		if like := near.Name(name, manifest.Names(keys)); like != "" {
			return err.WithHint("did you mean %s?", like)
		}
		return err.WithHint("a name is a key that `batch config keys` lists, a section of them, model, price, salvage, dataset or all")
	}
	return nil
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
	if err := checkUnit(flag, text, "GB"); err != nil {
		return 0, err
	}
	return n, nil
}

// checkUnit refuses a small number without a unit: nobody means so few bytes.
func checkUnit(flag, text, unit string) error {
	if n, err := strconv.ParseFloat(text, 64); err != nil || n <= 0 || n >= 1<<20 {
		return nil
	}
	return fault.Newf(fault.Usage, "--%s %s: %s of what? write %s%s", flag, text, text, text, unit)
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
