package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/run"
	"batch.example/batch/runner"
)

// runFlags are the flags of `batch run`, by mini-swe-agent's names if it has them: the request,
// and flags of one command alone.
type runFlags struct {
	run.Request
	run.Continuing
	outputFlags
	givenFlags

	dryRun bool
	inject string

	// Of a command that continues a directory that an earlier one made:
	trust bool         // with what it names
	asked *run.Request // of the last `batch run`; nil: this one
	argv  []string     // its command line

	apart detaching
}

func newRunFlags() runFlags { return runFlags{Request: run.NewRequest()} }

// addPace adds the flags that change how a run works but not its results: they may differ each
// time that the run is continued.
func (f *runFlags) addPace(fs *pflag.FlagSet) {
	widthVar(fs, &f.Workers, "workers", "w", "instances to run at once; auto chooses by the engine's CPU cores and memory")
	widthVar(fs, &f.GradeWorkers, "grade-workers", "", "predictions to grade at once, beside the agents; auto: one for each of the engine's CPU cores")
	f.addCost(fs)
	fs.StringSliceVar(&f.Retry, "retry", nil, "retry an instance up to N times if it ends with KIND (`KIND=N`): a kind of fault\n(transient, instance, unknown, bug, expired), an outcome (empty, limit, format, failed, diverged) or an exit status;\nmay be repeated (default "+runner.DefaultRetries().String()+")")
	fs.StringSliceVar(&f.Accept, "accept-changes", nil, "continue although these settings (`NAMES`, separated by commas; without them all) differ from the\ndirectory's manifest")
	fs.Lookup("accept-changes").NoOptDefVal = "all"
	secondsVar(fs, &f.EngineWait, "engine-wait", "how long to wait for a Docker engine that stops answering during the run")
	fs.StringVar(&f.Durability, "durability", f.Durability, "what the journal survives: power (a power failure; one fsync before each model call and\ncommand) or process (a crash of the program only)")
	f.addInject(fs)
	inSection(fs, "Run")
}

func (f *runFlags) addCost(fs *pflag.FlagSet) {
	fs.Float64Var(&f.CostLimit, "cost-limit-total", 0, "limit in US dollars on the cost of all runs into the directory together (0: no limit);\nshards divide it equally; refused if the model's price is not known")
}

func (f *runFlags) addInject(fs *pflag.FlagSet) {
	fs.StringVar(&f.inject, "inject", "", "make chosen steps fail, see internal/inject")
	_ = fs.MarkHidden("inject")
}

func (f *runFlags) addMask(fs *pflag.FlagSet) {
	addMask(fs, &f.Request, "patches, as keys and logins are hidden")
}

func (f *runFlags) addOutput(fs *pflag.FlagSet) {
	f.outputFlags.add(fs)
	f.addMask(fs)
	inSection(fs, "Output")
}

func (a *app) runCommand() *cobra.Command {
	f := newRunFlags()
	c := &cobra.Command{
		Use:   "run [INSTANCE...]",
		Short: "Turn a dataset into predictions",
		Long: `Turn a dataset into predictions: one container per instance, the default agent
in it, and trajectories, patches and preds.json in the run directory. Run the
same command again, or ` + "`batch resume DIR`" + `, to continue an interrupted run.
INSTANCE arguments are ids: of the selected instances, only these run.

  batch run --subset verified -m openai/gpt-5 -w 8 -o runs/gpt-5
  batch run --subset verified -m openai/gpt-5 django__django-11019 --dry-run
  batch run --subset rows.parquet --filter 'django__' --slice :10 -m oracle
  batch run -c swebench.yaml -c agent.step_limit=100 -m openai/gpt-5

-c FILE is a file in the current directory or in MSWEA_CONFIG_DIR.
Configurations of mini-swe-agent work too, but batch has no copy of them.
Batch's own prompts are built in: -c default (always the base), -c text
(commands in a fenced block), -c tools (an editor in addition to bash) and -c
tasks (for task folders, see batch help task-folders).

--workers auto chooses the smallest of: 4 instances per CPU core of the engine,
since agents wait for the model most of the time; one per 2 GiB (or --memory, if
less) of 90% of the available memory; one per 16 files that may be open. Of an
engine on this machine only the cores count that batch itself may use, and under
Slurm those of its task. While memory is short, no further instance starts, but
at least one always runs.

Exit codes: 0 every instance has a result, 1 the run could not continue,
2 usage, 3 some instances have no result, or with --grade no verdict, 4 the
directory is in use, 130 interrupted.`,
		RunE: func(c *cobra.Command, ids []string) error {
			f.Named, f.own = ids, c.Flags()
			return a.run(c.Context(), f)
		},
	}
	f.add(c.Flags())
	return c
}

func (f *runFlags) add(fs *pflag.FlagSet) {
	addSource(fs, &f.Request)
	addConfig(fs, &f.Request)
	fs.StringVarP(&f.Output, "output", "o", "", "run directory (default: runs/SUBSET-MODEL)")
	f.addDryRun(fs)
	fs.BoolVar(&f.Redo, "redo-existing", false, "also run instances that have a result")
	fs.BoolVar(&f.Salvage, "salvage", false, "if an agent ends without a submission, use its working-tree diff as the prediction")
	fs.BoolVar(&f.Grade, "grade", false, "grade each prediction as soon as it is submitted, as batch grade does")
	f.addPace(fs)
	addRecord(fs, &f.Request)
	addPrefix(fs, &f.Request)
	addAssets(fs, &f.Request)
	addTasks(fs, &f.Request)
	addImages(fs, &f.Request)
	f.addOutput(fs)
}

func (f *runFlags) addDryRun(fs *pflag.FlagSet) {
	fs.BoolVar(&f.dryRun, "dry-run", false, "check everything and show what would run, without running it")
	f.apart.add(fs)
}

// run checks what `batch run` was asked for, and runs it.
func (a *app) run(ctx context.Context, f runFlags) error {
	if err := checkAccept(f.Accept); err != nil {
		return err
	}
	if apart, err := a.detached(f.apart, f.dryRun, f.InstancesFile); apart || err != nil {
		return err
	}
	if f.dryRun {
		postponeCollection()
	}
	git := run.ProbeGit(ctx, f.Dir)
	defer git.Stop()
	s, err := a.invoke(ctx, f, git)
	if err != nil {
		return a.unlessEmpty(err)
	}
	return s.run(ctx)
}

// invoke loads what `batch run` was asked for.
func (a *app) invoke(ctx context.Context, f runFlags, git *run.GitProbe) (*invocation, error) {
	s, err := a.configured(f, git)
	if err != nil {
		return nil, err
	}
	if err := a.trusted(&f, s.Output, s.Named(f.given("engine"))); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	s.Measure(ctx)
	return s, nil
}

// load opens the dataset of the request and selects from it.
func (s *invocation) load(ctx context.Context) error {
	ds, selected, err := s.app.load(ctx, s.Request)
	if err != nil {
		return s.flags.acceptedName(ds, err)
	}
	return s.Over(ds, selected)
}

// acceptedName explains an instance that does not exist, if it is the name of a difference:
// `--accept-changes NAME` without an = takes no name.
func (f *runFlags) acceptedName(ds *dataset.Dataset, err error) error {
	if ds == nil || len(f.Named) == 0 || !slices.Equal(f.Accept, []string{"all"}) || checkAccept(f.Named[:1]) != nil {
		return err
	}
	if _, unknown := (dataset.Selection{IDs: f.Named[:1]}).Apply(ds.Instances); unknown == nil {
		return err
	}
	return fault.Newf(fault.Usage, "%q is not an instance of %s", f.Named[0], run.Title(ds)).
		WithHint("did you mean `--accept-changes=%s`?", f.Named[0])
}

// configured returns the invocation with its configuration, and hides its secrets.
func (a *app) configured(f runFlags, git *run.GitProbe) (*invocation, error) {
	plan, err := inject.Parse(f.inject)
	if err != nil {
		return nil, err
	}
	setup, err := run.NewSetup(f.Request, a.process())
	if err != nil {
		return nil, err
	}
	if setup.Control, err = f.underControl(setup.Output, &setup.Request); err != nil {
		return nil, err
	}
	setup.Git, setup.Continuing = git.Known, f.Continuing
	if f.asked != nil {
		setup.Asked, setup.Argv = *f.asked, f.argv
	}
	return &invocation{app: a, Setup: setup, flags: f, inject: plan, started: time.Now()}, nil
}
