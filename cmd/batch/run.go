package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/printable"
	"batch.example/batch/journal"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/run"
	"batch.example/batch/sandbox"
)

// runFlags are the flags of `batch run`, mini-swe-agent's names where it has them.
type runFlags struct {
	sourceFlags
	imageFlags
	output      string
	model       string
	modelClass  string
	envClass    string
	configs     []string
	network     string
	memory      string
	disk        string
	cpus        string
	keepHistory bool
	allowCommit bool
	redo        bool
	salvage     bool
	dryRun      bool
	paceFlags

	argv     []string // of the `batch run` that this is, for the manifest
	retrying bool     // run the selected instances again, of a directory's own selection
	fresh    bool     // and the unfinished ones from the beginning
}

// paceFlags say how a run goes rather than what it makes: they may be others
// each time that a run into one directory is taken up again.
type paceFlags struct {
	workers     width
	engineWait  time.Duration
	totalCost   float64
	retry       []string // KIND=N
	quiet, json bool
	accept      []string // names of differences from the manifest, or "all"
	durability  string
	inject      string
	mask        []string
}

func (f *paceFlags) addPace(fs *pflag.FlagSet) {
	f.workers = width{n: 4}
	fs.VarP(&f.workers, "workers", "w", "instances at once; auto chooses by the engine's cores and memory")
	fs.DurationVar(&f.engineWait, "engine-wait", 5*time.Minute, "how long to wait for a Docker engine that stops answering in mid-run")
	fs.Float64Var(&f.totalCost, "cost-limit-total", 0, "US dollars that all runs into the directory may cost together (0: no limit);\nrefused when the model's price is not known")
	fs.StringSliceVar(&f.retry, "retry", nil, "`KIND=N`: try an instance up to N times again when it ends so, KIND being a fault's kind\n(transient, instance, unknown, bug), an outcome (empty, limit, format, failed) or an exit status;\nmay be repeated (default transient=2)")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, only the table at the end")
	fs.BoolVar(&f.json, "json", false, "events on standard output, one JSON object a line")
	fs.StringSliceVar(&f.accept, "accept-changes", nil, "resume although what is named differs from the directory's manifest; alone: whatever differs")
	fs.Lookup("accept-changes").NoOptDefVal = "all"
	fs.StringArrayVar(&f.mask, "mask", nil, "`REGEX`: hide what it matches in all that people read but patches, as keys and\nlogins are; may be repeated (adds to run.mask_patterns)")
	fs.StringVar(&f.durability, "durability", string(journal.Power), "what a running instance's journal outlives before each call and command: power,\na power cut (an fsync each), or process, the program's death alone")
	fs.StringVar(&f.inject, "inject", "", "make chosen steps fail, see internal/inject")
	_ = fs.MarkHidden("inject")
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Turn a dataset into predictions",
		Long: `Turn a dataset into predictions: one container per instance, the default agent
in it, and trajectories, patches and preds.json in the output directory.
The same command again goes on where this one stopped.

  batch run --subset verified -m openai/gpt-5 -w 8 -o runs/gpt-5
  batch run --subset rows.parquet --filter 'django__' --slice :10 -m oracle
  batch run -c swebench.yaml -c agent.step_limit=100 -m openai/gpt-5

-c FILE is a file here or in MSWEA_CONFIG_DIR, also one of mini-swe-agent's, of
which batch has no copy. Built in are batch's own prompts: -c default (always
underneath), -c text (commands in a fence) and -c tools (an editor beside bash).

With --workers auto, as many instances run at once as there is room for: 4 for
each of the engine's cores, since they wait for the model most of the time; one
for each 2 GiB (or --memory, where that is less) of the available memory but a
tenth; one for each 16 files that may be open. While memory is short, no further
instance is started, and with any --workers at least one runs.

Exit codes: 0 every instance has a result, 1 the run could not go on, 2 usage,
3 some instances have no result, 4 the directory is in use, 130 interrupted.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.argv = maskArgs(a.args)
			return a.run(c.Context(), f)
		},
	}
	f.add(c)
	return c
}

func (f *runFlags) add(c *cobra.Command) {
	f.sourceFlags.add(c)
	f.imageFlags.add(c)
	fs := c.Flags()
	fs.StringVarP(&f.output, "output", "o", "", "run directory (default: runs/SUBSET-MODEL)")
	fs.StringVarP(&f.model, "model", "m", "", "model: "+strings.Join(catalogue.Names(), ", "))
	fs.StringVar(&f.modelClass, "model-class", "", "sets model.model_class")
	fs.StringVar(&f.envClass, "environment-class", "", "sets environment.environment_class")
	fs.StringArrayVarP(&f.configs, "config", "c", nil, "YAML `FILE`, key=value, or batch's own default, text or tools; merged left to right\nover the default; may be repeated")
	fs.StringVar(&f.network, "network", "", "network of the containers: none (the default), bridge (one for all of them), or an existing one's name")
	fs.StringVar(&f.memory, "memory", "", "memory limit of a container, such as 8g (the default); 0: none")
	fs.StringVar(&f.disk, "disk", "", "what a container's own files may take, such as 20GiB (default: no limit): a quota where\nthe engine's storage driver has one, else a watch that kills what runs in that container")
	fs.StringVar(&f.cpus, "cpus", "", "CPUs that a container may use, such as 4 (the default); 0: all")
	fs.BoolVar(&f.keepHistory, "keep-git-history", false, "leave commits beyond the checked-out one in the images' repositories")
	fs.BoolVar(&f.allowCommit, "allow-commit-mismatch", false, "run an instance also in an image that is not at its row's base_commit, nor at a commit\nthat only sets up the environment on top of it")
	fs.BoolVar(&f.redo, "redo-existing", false, "run instances again that have a result")
	fs.BoolVar(&f.dryRun, "dry-run", false, "say what would run, and stop")
	fs.BoolVar(&f.salvage, "salvage", false, "where an agent ends without a submission, predict its work tree's diff")
	f.addPace(fs)
	_ = c.RegisterFlagCompletionFunc("model", cobra.FixedCompletions(catalogue.Words(), cobra.ShellCompDirectiveNoSpace))
	_ = c.MarkFlagDirname("output")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
}

// run is `batch run` up to the point where something is started.
func (a *app) run(ctx context.Context, f runFlags) error {
	if !f.workers.auto && f.workers.n < 1 {
		return fault.Newf(fault.Usage, "--workers %d: at least one is needed", f.workers.n)
	}
	if f.engineWait <= 0 {
		return fault.Newf(fault.Usage, "--engine-wait %v: expected a time over 0", f.engineWait)
	}
	if err := f.imageFlags.check(); err != nil {
		return err
	}
	if !(f.totalCost >= 0) { // NaN is not either
		return fault.Newf(fault.Usage, "--cost-limit-total %v: expected a sum of US dollars", f.totalCost)
	}
	if strings.ContainsFunc(f.imagePrefix, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fault.Newf(fault.Usage, "--image-prefix %q: expected the host of a registry, with a path or not", f.imagePrefix)
	}
	if _, err := journal.ParseDurability(f.durability); err != nil {
		return err
	}
	plan, err := inject.Parse(f.inject)
	if err != nil {
		return err
	}
	cfg, err := a.config(f)
	if err != nil {
		return err
	}
	if err := a.hideAsked(cfg, f.mask); err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(a.stderr, "batch: "+w)
	}
	git := run.ProbeGit(ctx)
	defer git.Stop()
	ds, selected, err := f.load(ctx, a)
	if err != nil {
		return err
	}
	loop, err := run.Prepare(cfg, selected)
	if err != nil {
		return err
	}
	if f.output == "" {
		f.output = run.DefaultOutput(f.subset, cfg.Model.ModelName)
	}
	if f.workers.auto {
		machine := sandbox.Measure(ctx, docker.FromEnv(a.getenv, a.home))
		f.workers.n, f.workers.why = run.Width(machine, cfg.Environment.Flags().Memory, len(selected))
	}
	if f.dryRun {
		return a.dryRun(a.stdout, f, cfg, ds, selected)
	}
	s := &sweep{
		app: a, flags: f, cfg: cfg, inject: plan, loop: loop, ds: ds, selected: selected, git: git, started: time.Now(),
	}
	return s.run(ctx)
}

// config merges the user's files and values over the default one; flags come last.
func (a *app) config(f runFlags) (*config.Config, error) {
	specs := append([]string{}, f.configs...)
	given := map[bool]string{true: "true"} // what is not given leaves the files their say
	for key, value := range map[string]string{
		"model.model_name":                  f.model,
		"model.model_class":                 f.modelClass,
		"environment.environment_class":     f.envClass,
		"environment.network":               f.network,
		"environment.memory":                f.memory,
		"environment.disk":                  f.disk,
		"environment.cpus":                  f.cpus,
		"environment.keep_git_history":      given[f.keepHistory],
		"environment.allow_commit_mismatch": given[f.allowCommit],
	} {
		if value != "" {
			specs = append(specs, key+"="+value)
		}
	}
	var opts config.Options
	if dir := a.getenv("MSWEA_CONFIG_DIR"); dir != "" {
		opts.Dirs = []string{dir}
	}
	return config.Load(specs, opts)
}

// dryRun prints what would run, and does nothing else.
func (a *app) dryRun(w io.Writer, f runFlags, cfg *config.Config, ds *dataset.Dataset, selected []dataset.Instance) error {
	t := printable.NewTable(w)
	t.Row("INSTANCE", "IMAGE")
	images := map[string]bool{}
	done := map[string]bool{}
	if !f.redo && !f.retrying {
		done = run.Predicted(f.output)
	}
	todo := slices.DeleteFunc(slices.Clone(selected), func(in dataset.Instance) bool { return done[in.ID] })
	for _, in := range f.ordered(todo) {
		image := in.ImageName(f.imagePrefix)
		images[image] = true
		t.Row(in.ID, image)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	kept := ""
	if n := len(selected) - len(todo); n > 0 {
		kept = fmt.Sprintf("; %d more have a prediction there", n)
	}
	_, err := fmt.Fprintf(w, "\nwould run %d of %d instances of %s, %d images, model %s, %d workers, into %s%s\nprompts: %s\n",
		len(todo), len(ds.Instances), titled(ds), len(images), cmp.Or(cfg.Model.ModelName, "(none named)"), f.workers.n, f.output, kept, cfg.Prompts())
	if err == nil && f.workers.auto {
		_, err = fmt.Fprintln(w, f.workers.why)
	}
	return err
}

// titled names a dataset and the split that was read of it.
func titled(ds *dataset.Dataset) string {
	if ds.Split == "" {
		return ds.Name
	}
	return ds.Name + " (split " + ds.Split + ")"
}
