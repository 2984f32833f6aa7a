package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/progress"
	"batch.example/batch/llm/limit"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/run"
	"batch.example/batch/run/selecting"
	"batch.example/batch/runner"
)

// selectFlags are the flags of `batch select`. It shares with `batch grade` the flags about the
// dataset and the containers in which tests run.
type selectFlags struct {
	gradeFlags
	by, entry, template string
	judge               string // the model of -m
	seed                uint64
	paths               []string
}

func (a *app) selectCommand() *cobra.Command {
	f := selectFlags{gradeFlags: newGradeFlags()}
	c := &cobra.Command{
		Use:   "select DIR...",
		Short: "Choose one of several attempts at each instance: best of n",
		Long: `Choose one of several attempts at each instance (best of n), and make a run
directory OUT of the chosen predictions. DIR is the folder of a sweep: its
attempts at one entry are the candidates. Or it is a run directory: several are
the attempts 1, 2 and so on.

  batch select runs/sweep --by majority -o runs/majority
  batch select runs/a runs/b runs/c --by tests -o runs/tests
  batch select runs/sweep --entry gpt-5 --by judge -m openai/gpt-5 -o runs/judge
  batch grade runs/majority && batch compare runs/a runs/majority

--by majority  the patch that most attempts made: equal byte by byte, except
               for git's index lines and the text after a hunk's line numbers.
--by tests     the patch that passes most of the tests that the patches add or
               change: each candidate's code runs against the tests of each,
               in fresh containers. The tests by which instances are graded,
               and the gold patch, are not used.
--by judge     the patch that the model of -m chooses. It sees the issue and the
               different patches in a shuffled order, and answers SELECTED: 2.

An empty patch is chosen only if all are empty. Between equal scores, the
majority decides, and then the smaller number of the attempt. The majority also
decides if no test can be run, or if the judge's answer could not be read twice;
the summary counts how often.

--judge-template FILE is a Jinja template with the variables problem_statement,
candidates (with number and patch), n and boundary, a text that no candidate
can know.

A grade of the chosen patch is copied into OUT, so that the rate is known
without grading again. OUT/selection.jsonl has the choices, their reasons and
the judge's replies. Costs in OUT include all attempts and the selection. The
same command again continues an interrupted one: nothing is asked or run twice.

Exit codes: 0 every instance has a selection, 1 it could not continue, 2 usage,
3 some have none, 4 a directory is in use, 130 interrupted.`,
		Args: someArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			f.own, f.paths = c.Flags(), args
			if err := f.check(); err != nil {
				return err
			}
			return a.selectAttempts(c.Context(), f)
		},
	}
	f.add(c)
	return c
}

func (f *selectFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.by, "by", "", "how to choose: "+strings.Join(selecting.Selectors(), ", "))
	fs.StringVarP(&f.Output, "output", "o", "", "run directory for what is chosen")
	fs.StringVar(&f.entry, "entry", "", "`NAME` of the entry in the sweep's folder")
	widthVar(fs, &f.Workers, "workers", "w", "instances to decide at once; auto: one for each of the engine's CPU cores with\n--by tests, otherwise 4")
	fs.StringSliceVar(&f.Retry, "retry", nil, "try an instance again up to N times if it fails with KIND (`KIND=N`); may be repeated\n(default "+runner.Retries{"transient": runner.DefaultRetries()["transient"]}.String()+")")
	inSection(fs, "Selecting")
	fs.StringVarP(&f.judge, "model", "m", "", "the judge: a model as of batch run")
	fs.StringArrayVarP(&f.Configs, "config", "c", nil, "YAML `FILE` or key=value for the judge's model.* and for environment.*; may be repeated")
	fs.StringVar(&f.template, "judge-template", "", "Jinja template in `FILE` in place of the judge's built-in prompt")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the order in which the judge sees the patches")
	fs.Float64Var(&f.CostLimit, "cost-limit-total", 0, "limit in US dollars on the cost of the judge (0: no limit); refused if the model's price is not\nknown")
	inSection(fs, "Judge")
	fs.DurationVar(&f.timeout, "timeout", 0, "limit on the time of a test run (default: the dataset family's, or 30m)")
	fs.StringVar(&f.parser, "parser", "", "`EXECUTABLE` that reads a log and prints the tests' statuses as JSON")
	fs.StringVar(&f.evalScript, "eval-script", "", "bash script that runs the tests, in place of the rows': a `FILE`, or a folder with\nINSTANCE/eval.sh")
	fs.DurationVar(&f.engineWait, "engine-wait", f.engineWait, "how long to wait for a Docker engine that stops answering")
	inSection(fs, "Tests")
	addContainers(fs, &f.Request)
	fs.Lookup("network").Usage = testNetwork
	fs.StringVar(&f.Subset, "subset", "", "dataset of the attempts (default: the one that their manifest names)")
	fs.StringVar(&f.Split, "split", "", "split of the dataset (default: the only one; of several, test)")
	fs.StringVar(&f.Revision, "revision", "", "branch, tag or commit of a Hugging Face dataset")
	inSection(fs, "Dataset")
	addPrefix(fs, &f.Request)
	f.images.add(c, &f.Request)
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress, only errors and the table at the end")
	fs.BoolVar(&f.json, "json", false, "print the result as one JSON object, and no progress")
	fs.StringArrayVar(&f.MaskPatterns, "mask", nil, "hide matches of `REGEX` in all files except patches; may be repeated\n(adds to run.mask_patterns)")
	inSection(fs, "Output")
}

// check refuses flags with values that allow no selection.
func (f *selectFlags) check() error {
	known := selecting.Selectors()
	judging := f.by == selecting.ByJudge
	switch {
	case f.by == "":
		return fault.Newf(fault.Usage, "--by is missing").WithHint("choose by %s", strings.Join(known, ", "))
	case !slices.Contains(known, f.by):
		return fault.Newf(fault.Usage, "--by %q: expected %s", f.by, strings.Join(known, ", ")).
			WithHint("%s", near.Hint(near.Name(f.by, known), "see `batch select --help`"))
	case f.Output == "":
		return fault.Newf(fault.Usage, "-o is missing").WithHint("name a directory for what is chosen")
	case judging && f.judge == "" && !f.given("config"):
		return fault.Newf(fault.Usage, "-m is missing").WithHint("name the model that judges, such as -m openai/gpt-5")
	case !judging && f.given("model", "judge-template", "seed", "cost-limit-total"):
		return fault.Newf(fault.Usage, "-m, --judge-template, --seed and --cost-limit-total are for --by judge")
	case !(f.CostLimit >= 0): // NaN is not either
		return fault.Newf(fault.Usage, "--cost-limit-total %v: expected an amount in US dollars, such as 2.50", f.CostLimit)
	}
	f.rules, f.repeat = "v5", 1
	return f.gradeFlags.check()
}

// selectSession is one `batch select` after its flags are read.
type selectSession struct {
	gradeSession
	flags  selectFlags
	entry  scores.Side
	limits limit.Pool // of the judge's keys
}

func (a *app) selectAttempts(ctx context.Context, f selectFlags) error {
	entry, err := entryOf(f.paths, f.entry)
	if err != nil {
		return err
	}
	if err := a.process().HideMatches(f.MaskPatterns); err != nil {
		return err
	}
	a.hideOfEntry(entry)
	s := &selectSession{gradeSession: gradeSession{app: a, started: time.Now()}, flags: f, entry: entry}
	c, err := s.config(ctx)
	if err != nil {
		return err
	}
	selected, err := selecting.Open(ctx, c)
	if err != nil {
		return err
	}
	if selected.Todo() > 0 {
		err = s.session(selected).work(ctx, selected)
	}
	return s.conclude(selected, err)
}

// config returns the attempts to select from, and how. It refuses what can be refused before the
// directory is touched.
func (s *selectSession) config(ctx context.Context) (c selecting.Config, err error) {
	f := &s.flags
	if err := run.RefuseSweep(f.Output); err != nil {
		return c, err
	}
	for _, a := range s.entry.Runs {
		if same(a.Path, f.Output) {
			return c, fault.Newf(fault.Usage, "-o %s: it is one of the attempts", f.Output).WithHint("name another directory")
		}
	}
	retries, err := runner.ParseRetries(f.Retry)
	if err != nil {
		return c, err
	}
	c = selecting.Config{
		Output: f.Output, Attempts: s.entry.Runs, By: f.by, Retries: retries, Tell: s.tell,
		Width: runner.NewWidth(4),
	}
	if f.by == selecting.ByJudge {
		if c.Judge, err = s.judge(); err != nil {
			return c, err
		}
	}
	if f.by != selecting.ByMajority || f.given("subset") {
		if err := s.openDataset(ctx); err != nil {
			return c, err
		}
		c.Instances = s.ds.Instances
	}
	if f.by == selecting.ByTests {
		settings := s.gradeSession.settings()
		if !f.given("network") { // the configuration's is the agents'
			settings.Network = ""
		}
		sandboxes, err := s.process().Sandboxes(s.cfg, s.gradeSession.flags.Request)
		if err != nil {
			return c, err
		}
		c.Tests = &selecting.Tests{Settings: settings, Sandboxes: sandboxes}
		if f.Workers == 0 {
			cores, err := s.cores(ctx, s.cfg)
			if err != nil {
				return c, err
			}
			c.Width = runner.NewWidth(cores)
		}
	}
	if f.Workers > 0 {
		c.Width = runner.NewWidth(f.Workers)
	}
	c.Store = results.Options{Mask: s.mask}
	c.About, err = s.about()
	return c, err
}

// same reports whether two paths name one directory.
func same(a, b string) bool {
	inA, errA := os.Stat(a)
	inB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(inA, inB)
}

// judge returns the judge that -m and -c name.
func (s *selectSession) judge() (*selecting.Judge, error) {
	f := &s.flags
	judging := f.Request
	judging.Model = f.judge
	cfg, err := s.process().LoadConfig(judging)
	if err != nil {
		return nil, err
	}
	if err := s.hideAndWarn(cfg, nil); err != nil {
		return nil, err
	}
	cfg.Agent.CostLimit = 0 // it is of an agent's attempt
	model, warnings, err := run.FindModel(cfg, f.CostLimit, run.Access{Getenv: s.getenv, Limits: &s.limits})
	if err != nil {
		return nil, err
	}
	for _, warning := range warnings {
		s.tell(warning)
	}
	c := selecting.JudgeConfig{Model: model, Name: cfg.Model.ModelName, Seed: f.seed, CostLimit: f.CostLimit}
	if f.template != "" {
		text, err := os.ReadFile(f.template)
		if err != nil {
			return nil, fault.New(fault.Usage, "reading --judge-template", err)
		}
		c.Prompt, c.File = string(text), f.template
	}
	return selecting.NewJudge(c)
}

// openDataset reads the dataset, and the settings of the containers, of the first attempt.
func (s *selectSession) openDataset(ctx context.Context) error {
	g := &s.gradeSession
	g.flags = s.flags.gradeFlags
	dir := s.firstRun()
	if dir == "" && !g.flags.given("subset") {
		return fault.Newf(fault.Usage, "%s has no manifest.json that names its dataset", s.entry.Runs[0].Path).
			WithHint("name it with --subset, such as --subset verified")
	}
	if err := g.configure(dir); err != nil {
		return err
	}
	g.flags.Only = nil // each attempt may have others
	return g.read(ctx)
}

// firstRun returns the first attempt's directory that has a manifest, or "".
func (s *selectSession) firstRun() string {
	for _, a := range s.entry.Runs {
		if a.Snapshot != nil && a.Snapshot.Manifest != nil {
			return a.Path
		}
	}
	return ""
}

// about returns the manifest of the directory; nil if no attempt names its dataset.
func (s *selectSession) about() (*manifest.Manifest, error) {
	m := s.manifest("select")
	known := s.ds != nil
	var ids []string
	for _, a := range s.entry.Runs {
		for id := range a.Scores {
			ids = append(ids, id)
		}
		if a.Snapshot == nil || a.Snapshot.Manifest == nil {
			continue
		}
		d := a.Snapshot.Manifest.Dataset
		switch {
		case !known:
			m.Dataset = manifest.Dataset{Name: d.Name, Split: d.Split, Revision: d.Revision, Digest: d.Digest}
			m.Dataset.Name = run.DatasetOf(a.Snapshot.Manifest) // a file's name is relative to its own manifest's folder
			known = true
		case d.Digest != m.Dataset.Digest:
			return nil, fault.Newf(fault.Usage, "%s is of another dataset than the attempts before it: %s, not %s", a.Path, d.Title(), m.Dataset.Title())
		}
	}
	if !known {
		return nil, nil
	}
	slices.Sort(ids)
	m.Dataset.Instances = slices.Compact(ids)
	m.Dataset.Count = len(m.Dataset.Instances)
	return m, nil
}

// session returns how a directory is worked on.
func (s *selectSession) session(d *selecting.Selecting) session {
	return session{
		app: s.app, started: s.started, quiet: s.flags.quiet || s.flags.json,
		about:  progress.Event{Directory: d.Output, Model: "--by " + d.By, Workers: d.Width.N(), Total: len(d.Selections()) + d.Todo()},
		saving: "ending what runs", again: "the same command",
	}
}

// conclude writes the predictions, prints the result and chooses how the command ends.
func (s *selectSession) conclude(d *selecting.Selecting, ended error) error {
	ended = s.also(ended, d.Write())
	return s.session(d).conclude(d, ended, func(out io.Writer) (int, error) {
		if ended != nil {
			return 0, nil
		}
		if d.Exhausted() {
			s.tell(fmt.Sprintf("limit of %v USD reached; to continue, run the same command with a higher one, such as --cost-limit-total %v",
				s.flags.CostLimit, report.HigherLimit(s.flags.CostLimit, d.Cost())))
		}
		return d.Missing(), s.writeBest(out, d)
	})
}
