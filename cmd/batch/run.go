package main

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/journal"
	"batch.example/batch/llm/limit"
	"batch.example/batch/run"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
)

// runFlags are the flags of `batch run`, mini-swe-agent's names where it has them.
type runFlags struct {
	sourceFlags
	imageFlags
	configFlags
	output  string
	redo    bool
	salvage bool
	grade   bool
	dryRun  bool
	paceFlags
	recordFlags

	named    []string // ids that were given as arguments; they narrow the selection
	whole    []string // ids that earlier runs into the directory selected; they are selected too
	argv     []string // of the `batch run` that this is, for the manifest
	dir      string   // the run directory as a person named it; empty: output
	retrying bool     // run the selected instances again, of a directory's own selection
	fresh    bool     // and the unfinished ones from the beginning
}

// shown is the run directory as a person knows it.
func (f *runFlags) shown() string { return cmp.Or(f.dir, f.output) }

// paceFlags change how a run works but not its results: they may differ each time that
// the run is continued.
type paceFlags struct {
	workers width

	gradeWorkers width
	engineWait   time.Duration
	totalCost    float64
	retry        []string // KIND=N
	quiet, json  bool
	accept       []string // names of differences from the manifest, or "all"
	durability   string
	inject       string
	mask         []string
}

func (f *paceFlags) addPace(fs *pflag.FlagSet) {
	f.workers = width{n: 4}
	fs.VarP(&f.workers, "workers", "w", "instances to run at once; auto chooses by the engine's CPU cores and memory")
	f.gradeWorkers = width{auto: true}
	fs.Var(&f.gradeWorkers, "grade-workers", "predictions to grade at once, beside the agents; auto: one for each of the engine's CPU cores")
	f.addCost(fs)
	fs.StringSliceVar(&f.retry, "retry", nil, "retry an instance up to N times if it ends with KIND (`KIND=N`): a kind of fault\n(transient, instance, unknown, bug, expired), an outcome (empty, limit, format, failed, diverged) or an exit status;\nmay be repeated (default "+runner.DefaultRetries().String()+")")
	fs.StringSliceVar(&f.accept, "accept-changes", nil, "continue although these settings (`NAMES`, separated by commas; without them all) differ from the\ndirectory's manifest")
	fs.Lookup("accept-changes").NoOptDefVal = "all"
	fs.DurationVar(&f.engineWait, "engine-wait", 5*time.Minute, "how long to wait for a Docker engine that stops answering during the run")
	fs.StringVar(&f.durability, "durability", string(journal.Power), "what the journal survives: power (a power failure; one fsync before each model call and\ncommand) or process (a crash of the program only)")
	f.addInject(fs)
	inSection(fs, "Run")
}

func (f *paceFlags) addCost(fs *pflag.FlagSet) {
	fs.Float64Var(&f.totalCost, "cost-limit-total", 0, "limit in US dollars on the cost of all runs into the directory together (0: no limit);\nrefused if the model's price is not known")
}

func (f *paceFlags) addInject(fs *pflag.FlagSet) {
	fs.StringVar(&f.inject, "inject", "", "make chosen steps fail, see internal/inject")
	_ = fs.MarkHidden("inject")
}

func (f *paceFlags) addMask(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.mask, "mask", nil, "hide matches of `REGEX` in all files except patches, as keys and logins are hidden;\nmay be repeated (adds to run.mask_patterns)")
}

func (f *paceFlags) addOutput(fs *pflag.FlagSet) {
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress, only errors and the table at the end")
	fs.BoolVar(&f.json, "json", false, "print events on standard output, one JSON object per line; see batch help events")
	f.addMask(fs)
	inSection(fs, "Output")
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [INSTANCE...]",
		Short: "Turn a dataset into predictions",
		Long: `Turn a dataset into predictions: one container per instance, the default agent
in it, and trajectories, patches and preds.json in the run directory. Run the
same command again, or ` + "`batch resume DIR`" + `, to continue an interrupted run.
INSTANCE arguments are ids: only these run, of those that the flags select.

  batch run --subset verified -m openai/gpt-5 -w 8 -o runs/gpt-5
  batch run --subset verified -m openai/gpt-5 django__django-11019 --dry-run
  batch run --subset rows.parquet --filter 'django__' --slice :10 -m oracle
  batch run -c swebench.yaml -c agent.step_limit=100 -m openai/gpt-5

-c FILE is a file in the current directory or in MSWEA_CONFIG_DIR.
Configurations of mini-swe-agent work too, but batch has no copy of them.
Batch's own prompts are built in: -c default (always the base), -c text
(commands in a fenced block) and -c tools (an editor in addition to bash).

--workers auto chooses the smallest of: 4 instances per CPU core of the engine,
since agents wait for the model most of the time; one per 2 GiB (or --memory, if
less) of 90% of the available memory; one per 16 files that may be open. While
memory is short, no further instance starts, but at least one always runs.

Exit codes: 0 every instance has a result, 1 the run could not continue,
2 usage, 3 some instances have no result, or with --grade no verdict, 4 the
directory is in use, 130 interrupted.`,
		RunE: func(c *cobra.Command, ids []string) error {
			f.named, f.argv = ids, maskArgs(a.args)
			return a.run(c.Context(), f)
		},
	}
	f.add(c)
	return c
}

func (f *runFlags) add(c *cobra.Command) {
	f.sourceFlags.add(c)
	f.configFlags.add(c)
	fs := c.Flags()
	fs.StringVarP(&f.output, "output", "o", "", "run directory (default: runs/SUBSET-MODEL)")
	f.addDryRun(fs)
	fs.BoolVar(&f.redo, "redo-existing", false, "also run instances that have a result")
	fs.BoolVar(&f.salvage, "salvage", false, "if an agent ends without a submission, use its working-tree diff as the prediction")
	fs.BoolVar(&f.grade, "grade", false, "grade each prediction as soon as it is submitted, as batch grade does")
	f.addPace(fs)
	f.addRecord(fs)
	f.addPrefix(fs)
	f.imageFlags.add(c)
	f.addOutput(fs)
}

func (f *runFlags) addDryRun(fs *pflag.FlagSet) {
	fs.BoolVar(&f.dryRun, "dry-run", false, "check everything and show what would run, without running it")
}

// check refuses flags with values that no run can have.
func (f *runFlags) check() error {
	if !f.workers.auto && f.workers.n < 1 {
		return fault.Newf(fault.Usage, "--workers %d: expected at least 1", f.workers.n)
	}
	if !f.gradeWorkers.auto && f.gradeWorkers.n < 1 {
		return fault.Newf(fault.Usage, "--grade-workers %d: expected at least 1", f.gradeWorkers.n)
	}
	if f.engineWait <= 0 {
		return fault.Newf(fault.Usage, "--engine-wait %v: expected a time above 0, such as 5m", f.engineWait)
	}
	if err := f.imageFlags.check(); err != nil {
		return err
	}
	if err := cmp.Or(checkUnit("memory", f.memory, "g"), checkUnit("disk", f.disk, "GB"), checkAccept(f.accept)); err != nil {
		return err
	}
	if !(f.totalCost >= 0) { // NaN is not either
		return fault.Newf(fault.Usage, "--cost-limit-total %v: expected an amount in US dollars, such as 2.50", f.totalCost)
	}
	if strings.ContainsFunc(f.imagePrefix, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fault.Newf(fault.Usage, "--image-prefix %q: expected the host of a registry, such as mirror.local or mirror.local/hub", f.imagePrefix)
	}
	if err := f.checkRecord(); err != nil {
		return err
	}
	_, err := journal.ParseDurability(f.durability)
	return err
}

// run checks what `batch run` was asked for, and runs it.
func (a *app) run(ctx context.Context, f runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.dryRun {
		postponeCollection()
	}
	git := run.ProbeGit(ctx)
	defer git.Stop()
	s, err := a.invoke(ctx, f, git)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// invoke loads what `batch run` was asked for.
func (a *app) invoke(ctx context.Context, f runFlags, git *run.GitProbe) (*invocation, error) {
	s, err := a.configured(f, git)
	if err != nil {
		return nil, err
	}
	ds, selected, err := f.load(ctx, a)
	if err != nil {
		return nil, err
	}
	if selected, err = f.narrow(ds, selected); err != nil {
		return nil, err
	}
	if err := s.over(ds, selected); err != nil {
		return nil, err
	}
	s.measure(ctx)
	return s, nil
}

// configured returns the invocation with its configuration, whose secrets it hides.
func (a *app) configured(f runFlags, git *run.GitProbe) (*invocation, error) {
	plan, err := inject.Parse(f.inject)
	if err != nil {
		return nil, err
	}
	cfg, err := a.config(f.configFlags)
	if err != nil {
		return nil, err
	}
	if err := a.hideAndWarn(cfg, f.mask); err != nil {
		return nil, err
	}
	if f.output == "" {
		f.output = run.DefaultOutput(f.subset, cfg.Model.ModelName)
	}
	if err := refuseSweep(f.output); err != nil {
		return nil, err
	}
	return &invocation{app: a, flags: f, cfg: cfg, inject: plan, git: git, limits: new(limit.Pool), started: time.Now()}, nil
}

// over makes the invocation one over the selected instances of ds.
func (s *invocation) over(ds *dataset.Dataset, selected []dataset.Instance) (err error) {
	s.ds, s.selected = ds, selected
	s.loop, err = run.Prepare(s.cfg, selected)
	return err
}

// measure resolves the numbers of workers that are automatic.
func (s *invocation) measure(ctx context.Context) {
	f := &s.flags
	if !f.workers.auto && !(f.grade && f.gradeWorkers.auto) {
		return
	}
	machine := sandbox.Measure(ctx, docker.FromEnv(s.getenv, s.home))
	if f.workers.auto {
		f.workers.n, f.workers.why = run.Width(machine, s.cfg.Environment.Flags().Memory, len(s.selected))
	}
	if f.grade && f.gradeWorkers.auto {
		f.gradeWorkers.n = machine.Cores
	}
}
