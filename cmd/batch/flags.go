package main

import (
	"errors"
	"strconv"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/agent/config"
	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/llm/cassette"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run"
)

// imageFlags are flags about images with values that have to be parsed.
type imageFlags struct {
	diskBudget, diskReserve string
}

func (f *imageFlags) add(c *cobra.Command, r *run.Request) {
	fs := c.Flags()
	fs.StringVar(&f.diskBudget, "disk-budget", "", "disk space for the images that batch pulled, such as 100GB; beyond it, the images needed\nleast are removed (default: no limit, unless the disk runs low)")
	fs.IntVar(&r.Prefetch, "prefetch", r.Prefetch, "number of images to pull before the instances that need them start")
	fs.StringVar(&r.Order, "order", r.Order, "order of the instances: grouped (instances with shared images run near each other) or given")
	f.addPull(c, r)
}

// imageSection is the section of flags that several commands add.
const imageSection = "Images and disk"

// addPull adds the flags of every command that pulls images.
func (f *imageFlags) addPull(c *cobra.Command, r *run.Request) {
	c.Flags().IntVar(&r.Pulls, "pulls", r.Pulls, "number of images to pull at the same time")
	c.Flags().StringVar(&f.diskReserve, "disk-reserve", "1GB", "disk space to leave free where the engine keeps its data")
	inSection(c.Flags(), imageSection)
}

// read puts the sizes into r.
func (f *imageFlags) read(r *run.Request) (err error) {
	if r.DiskBudget, err = parseSize("disk-budget", f.diskBudget); err != nil {
		return err
	}
	if r.DiskReserve, err = parseSize("disk-reserve", f.diskReserve); err != nil {
		return err
	}
	return run.CheckImages(*r)
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

// checkUnit refuses a small number without a unit: so few bytes must be a mistake.
func checkUnit(flag, text, unit string) error {
	if n, err := strconv.ParseFloat(text, 64); err != nil || n <= 0 || n >= 1<<20 {
		return nil
	}
	return fault.Newf(fault.Usage, "--%s %s: %s of what? write %s%s", flag, text, text, text, unit)
}

// width is the value of --workers as a flag: a number, or auto, which is 0.
type width int

// widthVar adds a flag for a number of workers.
func widthVar(fs *pflag.FlagSet, to *int, name, shorthand, usage string) {
	fs.VarP((*width)(to), name, shorthand, usage)
}

// Set implements pflag.Value.
func (w *width) Set(s string) error {
	if *w = 0; s == "auto" {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("expected a number or auto")
	}
	if n < 1 {
		return errors.New("expected at least 1")
	}
	*w = width(n)
	return nil
}

// String implements pflag.Value.
func (w *width) String() string {
	if *w == 0 {
		return "auto"
	}
	return strconv.Itoa(int(*w))
}

// Type implements pflag.Value.
func (w *width) Type() string { return "N|auto" }

// addRecord adds the flags that say whether the exchanges with a model's provider are recorded, or
// come from a recording.
func addRecord(flags *pflag.FlagSet, r *run.Request) {
	flags.BoolVar(&r.Record, "record", false, "record what is sent to the model's provider and what it answers, without keys, in\n<output>/<id>/"+cassette.FileName)
	flags.StringVar(&r.Replay, "replay", "", "answer the model calls from the recording in the run directory `DIR`, without a network or a key")
	flags.BoolVar(&r.ReplayChanged, "replay-changed", false, "with --replay: give the recorded answers in order although a request differs from the recorded\none, as with commands that print times")
	inSection(flags, "Model and configuration")
}
