package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/agent/template"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/family"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/journal"
	"batch.example/batch/llm/limit"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run"
	"batch.example/batch/run/grading"
	"batch.example/batch/run/telemetry"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
)

// invocation is one `batch run` whose flags are read.
type invocation struct {
	*app
	flags    runFlags
	cfg      *config.Config
	inject   *inject.Plan
	loop     *agent.Loop
	ds       *dataset.Dataset
	selected []dataset.Instance
	git      *run.GitProbe

	limits    *limit.Pool         // of the keys
	turnKeys  bool                // turns bring keys of their own
	telemetry *telemetry.Settings // nil: none is sent
	started   time.Time
}

// run works through the selected instances and prints how they ended.
func (s *invocation) run(ctx context.Context) (err error) {
	c, err := s.config()
	if err != nil {
		return err
	}
	if s.flags.dryRun {
		return s.dryRun(ctx, c)
	}
	if err := checkNetwork(ctx, c); err != nil {
		return err
	}
	r, err := run.Open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = s.also(err, r.Close()) }()
	if r.Todo()+r.ToGrade() == 0 {
		s.tell(nothingToDo(len(s.selected)) + "\n  " + strings.Join(s.againHints(), "\n  "))
		return s.conclude(r, nil)
	}
	err = s.work(ctx, r)
	if r.Summary().Began {
		err = s.conclude(r, err)
	}
	return s.interruption(err)
}

// checkNetwork refuses a network that does not exist before a run directory is made.
// [sandbox.Start] checks it too, for a directory that exists and for other callers, but
// comes too late here: it inherits containers, for which the directory has to be locked.
// What else is wrong with the engine, the run reports.
func checkNetwork(ctx context.Context, c run.Config) error {
	if _, err := os.Stat(c.Output); err == nil || c.Sandboxes.Container.Network == "none" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if _, err := sandbox.Look(ctx, c.Sandboxes); fault.KindOf(err) == fault.Usage {
		return err
	}
	return nil
}

// interruption returns err, for which a cancellation becomes errInterrupted, after it has
// named the command that continues the run.
func (s *invocation) interruption(err error) error {
	if !interrupted(err) {
		return err
	}
	s.tell("interrupted; continue with " + s.resumeCommand(s.flags.totalCost))
	return errInterrupted
}

func interrupted(err error) bool { return errors.Is(err, errInterrupted) || fault.Canceled(err) }

// resumeCommand is the command that continues the run with this cost limit.
func (s *invocation) resumeCommand(costLimit float64) string { return s.resumeAfter("", costLimit) }

// resumeAfter is resumeCommand after a change of a setting, if changed is not "".
func (s *invocation) resumeAfter(changed string, costLimit float64) string {
	flag := ""
	if changed != "" {
		flag = " --accept-changes=" + changed
	}
	if costLimit != report.CostLimit(s.flags.argv, 0) { // which would be taken without it
		flag += fmt.Sprintf(" --cost-limit-total %v", costLimit)
	}
	// `batch resume` cannot know what is hidden, or what was changed on the command line.
	hidden := changed != "" && s.cfg.Given(changed) || slices.ContainsFunc(s.flags.argv, func(arg string) bool { return strings.Contains(arg, mask.Hidden) })
	switch {
	case hidden && flag != "":
		return "the same command with `" + flag[1:] + "`"
	case hidden:
		return "the same command"
	default:
		return "`batch resume " + printable.ShellWord(s.flags.shown()) + flag + "`"
	}
}

// againHints are lines that say how instances with a result are run again.
func (s *invocation) againHints() []string {
	return []string{
		"to run some again: `batch retry " + printable.ShellWord(s.flags.shown()) + " INSTANCE...`",
		"to run all again: the same `batch run` with `--redo-existing`",
	}
}

// config is what the run is. What can be refused is refused before the directory is
// touched.
func (s *invocation) config() (c run.Config, err error) {
	model, warnings, err := run.FindModel(s.cfg, s.flags.totalCost, s.access())
	if err != nil {
		return c, err
	}
	if err := s.flags.checkAsked(model.Provider); err != nil {
		return c, err
	}
	for _, warning := range warnings {
		s.tell(warning)
	}
	if s.telemetry, err = telemetry.FromEnv(s.getenv); err != nil {
		return c, err
	}
	servers, err := s.cfg.MCPServers(s.getenv)
	if err != nil {
		return c, err
	}
	retries, err := runner.ParseRetries(s.flags.retry)
	if err != nil {
		return c, err
	}
	sweep, beside := "", 0.0
	if s.flags.totalCost > 0 {
		if sweep, beside, err = spentBeside(s.flags.output); err != nil {
			return c, err
		}
	}
	return run.Config{
		Output: s.flags.output, Settings: s.cfg, Loop: s.loop, Instances: s.selected,
		Model: model, Sandboxes: s.sandboxes(s.cfg, s.flags.imageFlags, s.flags.imagePrefix, s.flags.engineWait),
		Store: results.Options{Durability: journal.Durability(s.flags.durability), Mask: s.mask, Inject: s.inject},
		About: s.about(), Git: s.git.Known, Argv: maskArgs(s.args),
		Width: runner.NewWidth(s.flags.workers.n), WidthWhy: s.flags.workers.why, ByImage: s.flags.order != orderGiven,
		Retries: retries, CostLimit: s.flags.totalCost, Sweep: sweep, Beside: beside, Salvage: s.flags.salvage,
		Grading: s.grading(), Servers: servers,
		Redo: s.flags.redo, Again: s.flags.retrying, Fresh: s.flags.fresh, Settled: s.flags.dir != "", Accept: s.flags.accept,
		Tell: s.tell,
	}, nil
}

// grading says how predictions are graded; nil: they are not.
func (s *invocation) grading() *run.Grading {
	if !s.flags.grade {
		return nil
	}
	c := grading.Settings{
		Options: family.Options{Workdir: s.cfg.Environment.Cwd}, Startup: run.Startup(s.cfg), Cache: s.gradeCache(),
		AllowCommitMismatch: s.cfg.Environment.AllowCommitMismatch,
	}
	return &run.Grading{Settings: c, Width: runner.NewWidth(s.flags.gradeWorkers.n)}
}

// about is what the manifest says of this command and its dataset.
func (s *invocation) about() manifest.Manifest {
	dir, _ := os.Getwd() // without it, relative paths are only right from here
	return manifest.Manifest{
		Batch: run.Version(), Argv: s.flags.argv, Dir: dir, Seed: s.flags.seed,
		Dataset: manifest.Dataset{
			Name: s.ds.Name, Split: s.ds.Split, Revision: s.ds.Revision, Digest: s.ds.Digest, Selection: s.flags.selection(),
		},
	}
}

// maskArgs hides the values of arguments that look like keys.
func maskArgs(args []string) []string {
	masked := make([]string, len(args))
	for i, arg := range args {
		masked[i] = config.MaskSpec(arg)
	}
	return masked
}

// selection writes the selecting flags as they would be given.
func (f *runFlags) selection() string {
	parts := slices.Clone(f.named)
	for _, p := range []struct{ flag, value string }{
		{"filter", f.filter}, {"slice", f.slice}, {"instances", f.instances}, {"shard", f.shard},
	} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("--%s %q", p.flag, p.value))
		}
	}
	if f.shuffle {
		parts = append(parts, fmt.Sprintf("--shuffle --seed %d", f.seed))
	}
	return strings.Join(parts, " ")
}

// work does what is left to do, and shows it.
func (s *invocation) work(ctx context.Context, r *run.Run) error {
	stopTelemetry, err := s.startTelemetry(ctx, r)
	if err != nil {
		return err
	}
	defer stopTelemetry()
	d := s.newDisplay(r)
	defer func() { // a display that cannot be written to must not fail the run
		if err := ignoreClosed(d.Close()); err != nil && s.flags.json {
			s.tell(fmt.Sprintf("not all events were written: %v", err))
		}
	}()
	ctx, sig, stop := watchSignals(ctx, d.Say, s.stderr, "saving the work of running instances and removing their containers", s.resumeCommand(s.flags.totalCost))
	defer stop()
	err = r.Work(ctx, sig.drain, d)
	if sum := r.Summary(); err == nil && sig.drained.Load() && sum.Pending+sum.Waiting > 0 {
		err = errInterrupted
	}
	return err
}

// conclude prints the table and chooses how the command ends.
func (s *invocation) conclude(r *run.Run, runErr error) error {
	if err := r.Close(); err != nil {
		return s.also(runErr, err)
	}
	var out io.Writer = s.stdout
	if s.flags.json {
		out = s.stderr // standard output holds events only
	}
	sum := r.Summary()
	err := report.Summary(out, report.SummaryData{Asked: sum.Directory, Records: sum.Records, Spent: sum.Spent, Elapsed: time.Since(s.started)})
	if err == nil && len(sum.Asked) < len(sum.Directory) {
		_, err = fmt.Fprintf(out, "\nthis command was for %d of these %d instances: %s\n", len(sum.Asked), len(sum.Directory), some(sum.Asked))
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "\npredictions   %s\ntrajectories  %s\n",
			filepath.Join(s.flags.shown(), "preds.json"), filepath.Join(s.flags.shown(), "INSTANCE", "INSTANCE.traj.json"))
	}
	if errors.Is(err, syscall.EPIPE) {
		err = nil // the reader of the table has seen enough; the work is on disk
	}
	if err == nil && sum.Report != "" {
		_, err = fmt.Fprintf(out, "report        %s\n", sum.Report)
	}
	if sum.Budget {
		s.tell(s.limitReached(sum.Spent))
	}
	if sum.Host != nil && sum.Missing > 0 && !interrupted(runErr) {
		runErr = fault.New(fault.Host, "", runErr).
			WithHint("%s", strings.TrimSpace(fault.HintOf(runErr)+"\nthen "+s.resumeAfter(template.NameOf(runErr), s.flags.totalCost)+" continues"))
	}
	if runErr = s.also(runErr, err); runErr != nil {
		return runErr
	}
	if sum.Missing+sum.Ungraded > 0 {
		return errIncomplete
	}
	return nil
}

// limitReached is said where the cost limit leaves no money for a model call.
func (s *invocation) limitReached(spent float64) string {
	return fmt.Sprintf("limit of %v USD reached; raise --cost-limit-total to continue, such as %s",
		s.flags.totalCost, s.resumeCommand(report.HigherLimit(s.flags.totalCost, spent)))
}

// sayExhausted says of a plan that the run would stop before its first call.
func (s *invocation) sayExhausted(plan *run.Plan) {
	if plan.Exhausted && plan.Count(run.Keep) < len(plan.Instances) {
		s.tell(s.limitReached(plan.Spent))
	}
}
