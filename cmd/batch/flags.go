package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"

	"batch.example/batch/agent/config"
	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/llm/cassette"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run"
)

// imageSection is the section of flags that several commands add.
const imageSection = "Images and disk"

// addImages adds the flags of a command that manages the images of its instances.
func addImages(fs *pflag.FlagSet, r *run.Request) {
	sizeVar(fs, &r.DiskBudget, "disk-budget", "disk space for the images that batch pulled, such as 100GB; beyond it, the images needed\nleast are removed (default: no limit, unless the disk runs low)")
	fs.IntVar(&r.Prefetch, "prefetch", r.Prefetch, "number of images to pull before the instances that need them start")
	fs.StringVar(&r.Order, "order", r.Order, "order of the instances: grouped (instances with shared images run near each other) or given")
	addPull(fs, r)
}

// addPull adds the flags of every command that pulls images.
func addPull(fs *pflag.FlagSet, r *run.Request) {
	fs.IntVar(&r.Pulls, "pulls", r.Pulls, "number of images to pull at the same time")
	sizeVar(fs, &r.DiskReserve, "disk-reserve", "disk space to leave free where the engine keeps its data")
	inSection(fs, imageSection)
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

// value is a flag whose text a function reads.
type value struct {
	text, kind string // kind is the word for the value in help
	read       func(text string) error
}

// Set implements pflag.Value.
func (v *value) Set(text string) error {
	v.text = text
	return v.read(text)
}

// String implements pflag.Value.
func (v *value) String() string { return v.text }

// Type implements pflag.Value.
func (v *value) Type() string { return v.kind }

// sizeVar adds a flag for a number of bytes, as people write it: 50GB, 500m; 0 or nothing is none.
// The default is the present number.
func sizeVar(fs *pflag.FlagSet, to *int64, name, usage string) {
	text := ""
	if *to > 0 {
		text = units.HumanSize(float64(*to))
	}
	fs.Var(&value{text, "string", func(text string) (err error) {
		if *to = 0; text == "" {
			return nil
		}
		if *to, err = units.FromHumanSize(text); err != nil || *to < 0 {
			return errors.New("expected a size such as 50GB")
		}
		return checkUnit(text, "GB")
	}}, name, usage)
}

// limitVar adds a flag for a limit of a container, whose number needs a unit such as this one.
func limitVar(fs *pflag.FlagSet, to *string, name, unit, usage string) {
	fs.Var(&value{*to, "string", func(text string) error {
		*to = text
		return checkUnit(text, unit)
	}}, name, usage)
}

// checkUnit refuses a small number without a unit: so few bytes must be a mistake.
func checkUnit(text, unit string) error {
	if n, err := strconv.ParseFloat(text, 64); err != nil || n <= 0 || n >= 1<<20 {
		return nil
	}
	return fmt.Errorf("%s of what? write %s%s", text, text, unit)
}

// secondsVar adds a flag for a time, such as 30s or 5m. The default is the present one.
func secondsVar(fs *pflag.FlagSet, to *float64, name, usage string) {
	text := time.Duration(*to * float64(time.Second)).String()
	fs.Var(&value{text, "duration", func(text string) error {
		d, err := time.ParseDuration(text)
		*to = d.Seconds()
		return err
	}}, name, usage)
}

// widthVar adds a flag for a number of workers: a number, or auto, which is 0. The default is the
// present one.
func widthVar(fs *pflag.FlagSet, to *int, name, shorthand, usage string) {
	text := "auto"
	if *to > 0 {
		text = strconv.Itoa(*to)
	}
	fs.VarP(&value{text, "N|auto", func(text string) (err error) {
		if *to = 0; text == "auto" {
			return nil
		}
		if *to, err = strconv.Atoi(text); err != nil {
			return errors.New("expected a number or auto")
		}
		if *to < 1 {
			return errors.New("expected at least 1")
		}
		return nil
	}}, name, shorthand, usage)
}

// givenFlags are the flags of a command line; nil: none.
type givenFlags struct{ own *pflag.FlagSet }

// given reports whether one of the flags was given.
func (g givenFlags) given(names ...string) bool {
	return g.own != nil && slices.ContainsFunc(names, g.own.Changed)
}

// added returns a shell's command line with the flags that were given and whose names keep accepts.
func (g givenFlags) added(command string, keep func(name string) bool) string {
	g.own.Visit(func(f *pflag.Flag) {
		if !keep(f.Name) {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		for _, v := range valuesOf(f) {
			switch f.NoOptDefVal {
			case "":
				command += " " + name + " " + printable.ShellWord(v)
			case v:
				command += " " + name
			default:
				command += " --" + f.Name + "=" + printable.ShellWord(v)
			}
		}
	})
	return command
}

// outputFlags say how a command shows its work.
type outputFlags struct{ quiet, json bool }

func (f *outputFlags) add(fs *pflag.FlagSet) {
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress, only errors and the table at the end")
	fs.BoolVar(&f.json, "json", false, "print events on standard output, one JSON object per line; see batch help events")
}

// addMask adds the flag that hides texts in all files but some.
func addMask(fs *pflag.FlagSet, r *run.Request, but string) {
	fs.StringArrayVar(&r.MaskPatterns, "mask", nil, "hide matches of `REGEX` in all files except "+but+"; may be repeated (adds to run.mask_patterns)")
}

// addRecord adds the flags that say whether the exchanges with a model's provider are recorded, or
// come from a recording.
func addRecord(flags *pflag.FlagSet, r *run.Request) {
	flags.BoolVar(&r.Record, "record", false, "record what is sent to the model's provider and what it answers, without keys, in\n<output>/<id>/"+cassette.FileName)
	flags.StringVar(&r.Replay, "replay", "", "answer the model calls from the recording in the run directory `DIR`, without a network or a key")
	flags.BoolVar(&r.ReplayChanged, "replay-changed", false, "with --replay: give the recorded answers in order although a request differs from the recorded\none, as with commands that print times")
	inSection(flags, "Model and configuration")
}
