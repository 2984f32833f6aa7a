package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/run"
	"batch.example/batch/run/grading"
	"batch.example/batch/runner"
)

// gradeFlags are the flags of `batch grade`: the request of the run that made the predictions, as
// far as tests need it, how they are graded, and flags of this command alone.
type gradeFlags struct {
	run.Request
	outputFlags
	givenFlags
	tests grading.Request

	fromLogs, quarantine       string
	rules                      string
	goldCheck, noCache, dryRun bool
	apart                      detaching

	what   string // the first argument
	digest string // that the dataset must have; empty: any
}

func newGradeFlags() gradeFlags {
	f := gradeFlags{Request: run.NewRequest()}
	f.Workers = 0
	return f
}

func (a *app) gradeCommand() *cobra.Command {
	f := newGradeFlags()
	c := &cobra.Command{
		Use:   "grade DIR|PREDS|gold|empty [INSTANCE...]",
		Short: "Decide which predictions resolve their instances",
		Long: `Decide which predictions resolve their instances: each is tested in a fresh
container of its instance's image, as the official harness tests it, with a
network if the row's script installs something. DIR is a run directory, or
another tool's with a preds.json, and its grades go into it. PREDS is a file of
predictions (a JSON list or object, or JSON lines); gold stands for each row's
own patch, and empty for no patch: the tests run on the code as it is. INSTANCE
arguments narrow the selection.

  batch grade runs/gpt-5
  batch grade preds.json --subset verified -w 8 -o graded
  batch grade gold --subset demo
  batch grade --check --subset verified --repeat 3 -o check
  batch grade runs/gpt-5 --quarantine check/quarantine.txt

Run the same command again to continue an interrupted one: what has a verdict
for the same patch, eval script and image is kept. A failure of the engine, an
image or this machine is not a verdict, and is tested again. OUT takes more
predictions of the same model and dataset later, but no others.

--check tests gold and empty, and names the instances that are broken on this
machine: their image cannot be used, the gold patch does not resolve them, an
empty one does, or verdicts of --repeat differ. It writes OUT/quarantine.txt
for --quarantine, which leaves them out of all rates until another FILE, such
as an empty one, replaces the list.

--from-logs TREE grades saved logs again, without containers. TREE has a folder
for each instance, named by its id, with test_output.txt and patch.diff: the
log tree of the official harness (<run>/<model>/<id>), or <model>/<id>, or <id>.

  batch grade --from-logs logs/run_evaluation --subset verified -o regraded

Reports and logs have the form of the official harness: <model>.<run>.json and
logs/run_evaluation/<run>/<model>/<id>/report.json.

Exit codes: 0 every prediction has a verdict (--check: and no instance is
broken), 1 it could not continue, 2 usage, 3 some have none (or are broken),
4 the directory is in use, 130 interrupted.`,
		Args: cobra.ArbitraryArgs, // they depend on flags
		RunE: func(c *cobra.Command, args []string) error {
			f.own = c.Flags()
			if err := f.takeArguments(args); err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			if f.fromLogs != "" {
				return a.regrade(c.Context(), f)
			}
			return a.gradeContainers(c.Context(), f)
		},
	}
	fs := c.Flags()
	f.addGrading(fs)
	addSource(fs, &f.Request)
	f.addTests(fs)
	addPrefix(fs, &f.Request)
	addTasks(fs, &f.Request)
	addImages(fs, &f.Request)
	f.addOutput(fs)
	return c
}

func (f *gradeFlags) addGrading(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Output, "output", "o", "", "run directory for the grades (default: runs/grade-PREDS); of --from-logs, folder for the reports")
	fs.BoolVar(&f.goldCheck, "check", false, "find the instances that are broken on this machine")
	fs.StringVar(&f.fromLogs, "from-logs", "", "grade the logs in this folder")
	fs.IntVar(&f.tests.Repeat, "repeat", 1, "how often each prediction is tested; it is resolved only if it is each time")
	fs.StringVar(&f.quarantine, "quarantine", "", "leave the ids listed in this `FILE` out of all rates")
	fs.StringVar(&f.tests.RunID, "run-id", "", "run id of the reports (default: the directory's name; of --from-logs the tree's)")
	fs.BoolVar(&f.tests.Redo, "redo", false, "also grade what has a verdict")
	fs.BoolVar(&f.noCache, "no-cache", false, "run the tests also if the log of the same test run is known on this machine")
	fs.BoolVar(&f.dryRun, "dry-run", false, "show what would be graded, without grading it")
	f.addTesting(fs)
	_ = cobra.MarkFlagDirname(fs, "from-logs")
	inSection(fs, "Grading")
}

// addTesting adds the flags about how tests run and are read, whatever they run for.
func (f *gradeFlags) addTesting(fs *pflag.FlagSet) {
	fs.StringVar(&f.rules, "rules", "v5", "generation of the official rules: v5, or v4: the rules until 17 August 2026")
	fs.DurationVar(&f.tests.Timeout, "timeout", 0, "limit on the time of an instance's tests (default: the dataset\nfamily's limit, or 30m)")
	fs.StringSliceVar(&f.Retry, "retry", nil, "test again up to N times what fails with KIND (`KIND=N`); may be repeated\n(default "+runner.Retries{"transient": runner.DefaultRetries()["transient"]}.String()+")")
	widthVar(fs, &f.Workers, "workers", "w", "instances to test at once; auto: one for each of the engine's CPU cores")
	secondsVar(fs, &f.EngineWait, "engine-wait", "how long to wait for a Docker engine that stops answering")
}

// addTests adds the flags about what tests are and where they run.
func (f *gradeFlags) addTests(fs *pflag.FlagSet) {
	fs.StringVar(&f.tests.Options.Parser, "parser", "", "`EXECUTABLE` that reads a log and prints the tests' statuses as JSON")
	fs.StringVar(&f.tests.Options.EvalScript, "eval-script", "", "bash script that runs the tests, in place of the rows': a `FILE`, or a folder with\nINSTANCE/eval.sh")
	fs.StringVar(&f.tests.Options.RunScripts, "run-scripts", "", "folder run_scripts of SWE-bench Pro's repository")
	fs.StringVar(&f.tests.Assets, "assets", "", "folder tasks of a task repository: its ID/test_assets have the files that tests\nneed beside their patch (default: rows say where to download them)")
	_ = cobra.MarkFlagDirname(fs, "run-scripts")
	_ = cobra.MarkFlagDirname(fs, "assets")
	inSection(fs, "Tests")
	fs.StringArrayVarP(&f.Configs, "config", "c", nil, "YAML `FILE` or key=value for environment.*; may be repeated (default: the run in\nDIR has them)")
	addContainers(fs, &f.Request)
	fs.Lookup("network").Usage = testNetwork
}

func (f *gradeFlags) addOutput(fs *pflag.FlagSet) {
	f.apart.add(fs)
	f.outputFlags.add(fs)
	addMask(fs, &f.Request, "patches and logs")
	inSection(fs, "Output")
}

// runningTests are the flags about how tests run and what is shown meanwhile.
var runningTests = []string{"dry-run", "detach", "json", "repeat", "redo", "no-cache", "timeout", "retry"}

// takeArguments separates what is graded from the ids of instances.
func (f *gradeFlags) takeArguments(args []string) error {
	if f.fromLogs != "" {
		if len(args) > 0 || f.goldCheck {
			return fault.Newf(fault.Usage, "--from-logs takes no arguments and no --check").WithHint("choose instances with --instances or --filter")
		}
		for _, name := range runningTests {
			if f.given(name) {
				return fault.Newf(fault.Usage, "--from-logs takes no --%s: it runs no tests, and writes its reports at once", name)
			}
		}
		if f.Output == "" {
			return fault.Newf(fault.Usage, "-o is missing").WithHint("name a folder for the reports")
		}
		return nil
	}
	if f.goldCheck {
		if len(args) > 0 && (args[0] == wordGold || args[0] == wordEmpty) {
			return fault.Newf(fault.Usage, "--check grades gold and empty by itself: %s is too much", args[0]).
				WithHint("its arguments are instances")
		}
		f.Named = args
		return nil
	}
	if len(args) == 0 {
		return fault.Newf(fault.Usage, "what is to be graded?").
			WithHint("name a run directory, a file of predictions, or gold or empty; see `batch grade --help`")
	}
	f.what, f.Named = args[0], args[1:]
	return nil
}

// check refuses flags with values that nothing can be graded with.
func (f *gradeFlags) check() (err error) {
	t := &f.tests
	if t.Rules, err = logparse.ParseRules(f.rules); err != nil {
		return fault.New(fault.Usage, "--rules", err)
	}
	switch {
	case t.Timeout < 0 || t.Timeout == 0 && f.given("timeout"):
		return fault.Newf(fault.Usage, "--timeout %v: expected a time above 0, such as 30m", t.Timeout)
	case t.Repeat < 1:
		return fault.Newf(fault.Usage, "--repeat %d: expected at least 1", t.Repeat)
	case strings.ContainsAny(t.RunID, "/\\\x00") || t.RunID == "." || t.RunID == "..":
		return fault.Newf(fault.Usage, "--run-id %q: expected a name that a folder can have", t.RunID)
	}
	for flag, path := range map[string]string{"parser": t.Options.Parser, "eval-script": t.Options.EvalScript, "run-scripts": t.Options.RunScripts, "assets": t.Assets} {
		if _, err := os.Stat(path); path != "" && err != nil {
			return fault.New(fault.Usage, "--"+flag, err)
		}
	}
	return run.CheckRequest(f.Request)
}
