package manifest

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"
)

// commands are batch's commands that make a run directory.
var commands = []string{"run", "grade", "select", "chat", "attach", "serve"}

// upgrade fills in the facts that format version 1 had only in command lines. A command
// line that cannot be read leaves Request nil; [RequestOf] returns the reason.
func (m *Manifest) upgrade() {
	if i := slices.IndexFunc(m.Argv, func(arg string) bool { return slices.Contains(commands, arg) }); i >= 0 {
		m.Command = m.Argv[i]
	}
	if m.Command == "run" {
		m.Request, _ = RequestOf(m.Argv, m.Dir) //nolint:errcheck // see above
	}
	base := costLimitOf(m.Argv, 0)
	for i := range m.Runs {
		r := &m.Runs[i]
		r.CostLimit, r.MaskPatterns = costLimitOf(r.Argv, base), masksOf(r.Argv)
	}
}

// RequestOf parses a `batch run` in the form of format version 1: the arguments, and the folder
// in which it was started. Paths stay as given, perhaps relative to that folder. An error names
// the argument.
func RequestOf(argv []string, dir string) (*Request, error) {
	r := NewRequest()
	r.Dir = dir
	fs := newReader()
	fs.StringVarP(&r.Output, "output", "o", "", "")
	fs.StringVar(&r.Subset, "subset", r.Subset, "")
	fs.StringVar(&r.Split, "split", "", "")
	fs.StringVar(&r.Revision, "revision", "", "")
	fs.StringVar(&r.Filter, "filter", "", "")
	fs.StringVar(&r.Slice, "slice", "", "")
	fs.StringVar(&r.InstancesFile, "instances", "", "")
	fs.StringVar(&r.Shard, "shard", "", "")
	fs.BoolVar(&r.Shuffle, "shuffle", false, "")
	fs.Int64Var(&r.Seed, "seed", r.Seed, "")
	fs.StringArrayVarP(&r.Configs, "config", "c", nil, "")
	fs.StringVarP(&r.Model, "model", "m", "", "")
	fs.StringVar(&r.ModelClass, "model-class", "", "")
	fs.StringVar(&r.EnvironmentClass, "environment-class", "", "")
	fs.StringVar(&r.Network, "network", "", "")
	fs.StringVar(&r.Memory, "memory", "", "")
	fs.StringVar(&r.Disk, "disk", "", "")
	fs.StringVar(&r.CPUs, "cpus", "", "")
	fs.BoolVar(&r.KeepGitHistory, "keep-git-history", false, "")
	fs.BoolVar(&r.AllowCommitMismatch, "allow-commit-mismatch", false, "")
	fs.BoolVar(&r.Salvage, "salvage", false, "")
	fs.BoolVar(&r.Grade, "grade", false, "")
	fs.Float64Var(&r.CostLimit, "cost-limit-total", 0, "")
	fs.StringVar(&r.Durability, "durability", r.Durability, "")
	fs.StringArrayVar(&r.MaskPatterns, "mask", nil, "")
	fs.BoolVar(&r.Record, "record", false, "")
	fs.StringVar(&r.Replay, "replay", "", "")
	fs.BoolVar(&r.ReplayChanged, "replay-changed", false, "")
	fs.StringVar(&r.ImagePrefix, "image-prefix", "", "")
	fs.IntVar(&r.Prefetch, "prefetch", r.Prefetch, "")
	fs.IntVar(&r.Pulls, "pulls", r.Pulls, "")
	fs.StringVar(&r.Order, "order", r.Order, "")
	fs.StringSliceVar(&r.Retry, "retry", nil, "")
	workers := fs.StringP("workers", "w", strconv.Itoa(r.Workers), "")
	graders := fs.String("grade-workers", "auto", "")
	wait := fs.Duration("engine-wait", 5*time.Minute, "")
	budget, reserve := fs.String("disk-budget", "", ""), fs.String("disk-reserve", "1GB", "")
	start := slices.Index(argv, "run")
	if start < 0 {
		return nil, fmt.Errorf("%q: expected the arguments of a `batch run`", argv)
	}
	if err := fs.Parse(argv[start+1:]); err != nil {
		return nil, err
	}
	r.Named, r.EngineWait = fs.Args(), wait.Seconds()
	if err := cmp.Or(
		readNumber(&r.Workers, "workers", *workers), readNumber(&r.GradeWorkers, "grade-workers", *graders),
		readSize(&r.DiskBudget, "disk-budget", *budget), readSize(&r.DiskReserve, "disk-reserve", *reserve),
	); err != nil {
		return nil, err
	}
	return &r, nil
}

// newReader returns a flag set, including flags that affected only a single command.
func newReader() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.Bool("dry-run", false, "")
	fs.Bool("redo-existing", false, "")
	fs.BoolP("quiet", "q", false, "")
	fs.Bool("json", false, "")
	fs.String("inject", "", "")
	fs.StringSlice("accept-changes", nil, "")
	fs.Lookup("accept-changes").NoOptDefVal = "all"
	return fs
}

// readNumber reads a number of workers; auto is 0.
func readNumber(to *int, flag, text string) error {
	if *to = 0; text == "auto" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("--%s %s: expected a number or auto", flag, text)
	}
	*to = n
	return nil
}

func readSize(to *int64, flag, text string) error {
	if *to = 0; text == "" {
		return nil
	}
	n, err := units.FromHumanSize(text)
	if err != nil {
		return fmt.Errorf("--%s %s: expected a size such as 50GB", flag, text)
	}
	*to = n
	return nil
}

// masksOf returns the patterns of --mask in any command line of batch.
func masksOf(argv []string) (patterns []string) {
	fs := newReader()
	fs.ParseErrorsAllowlist.UnknownFlags = true
	fs.StringArrayVar(&patterns, "mask", nil, "")
	_ = fs.Parse(argv) // unreadable flags hide nothing
	return patterns
}

// costLimitOf returns the last --cost-limit-total of a command line; without one, limit.
func costLimitOf(argv []string, limit float64) float64 {
	const flag = "--cost-limit-total"
	for i, arg := range argv {
		value, ok := strings.CutPrefix(arg, flag+"=")
		if !ok && arg == flag && i+1 < len(argv) {
			value, ok = argv[i+1], true
		}
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			limit = v
		}
	}
	return limit
}
