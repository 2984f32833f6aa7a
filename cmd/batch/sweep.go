package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/progress"
	"batch.example/batch/journal"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/run"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/solver"
)

// sweep is one `batch run` from the moment something is started.
type sweep struct {
	*app
	flags    runFlags
	cfg      *config.Config
	resolved map[string]any // cfg, for journals
	inject   *inject.Plan
	loop     *agent.Loop
	ds       *dataset.Dataset
	selected []dataset.Instance
	store    *results.Store
	git      *gitProbe
	model    modelSource
	retries  runner.Retries
	started  time.Time

	budgetMet bool // the run stopped because its money is spent
}

// run works through the selected instances and prints how they ended.
func (s *sweep) run(ctx context.Context) (err error) {
	s.resolved = s.cfg.Resolved()
	// What can be refused is refused before the directory is touched.
	if s.model, err = s.newModelSource(s.cfg, s.flags.totalCost); err != nil {
		return err
	}
	if s.model.warning != "" {
		fmt.Fprintln(s.stderr, "batch: "+s.model.warning)
	}
	if s.retries, err = runner.ParseRetries(s.flags.retry); err != nil {
		return err
	}
	s.store, err = results.Open(s.flags.output, results.Options{
		Durability: journal.Durability(s.flags.durability), Mask: s.mask, Owner: lockOwner(), Inject: s.inject,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	for _, told := range s.store.Recovered() {
		fmt.Fprintln(s.stderr, "batch: "+told)
	}
	manifest := s.manifest(s.flags, s.cfg, s.model.price, s.ds, s.selected)
	if err := s.reconcile(manifest); err != nil {
		return err
	}
	if err := s.checkUnfinished(s.pending()); err != nil {
		return err
	}
	if s.flags.retrying {
		if err := s.store.Reset(ids(s.selected), s.flags.fresh); err != nil {
			return err
		}
	}
	todo := s.flags.ordered(s.pending())
	if len(todo) == 0 {
		return s.conclude(nil)
	}
	began, err := s.solve(ctx, todo, manifest)
	if !began {
		return err
	}
	manifest.Git = s.git.known()
	return s.conclude(errors.Join(err, completeManifest(s.store, manifest)))
}

// pending returns the instances that have no result yet, in order. Those that
// are run again keep their result until they start.
func (s *sweep) pending() []dataset.Instance {
	if s.flags.redo {
		return s.selected
	}
	var todo []dataset.Instance
	for _, in := range s.selected {
		if _, done := s.store.Finished(in.ID); !done {
			todo = append(todo, in)
		}
	}
	return todo
}

// solve runs the pool until every instance of todo has ended or the run is
// told to stop. It reports whether it came so far that instances were admitted.
func (s *sweep) solve(ctx context.Context, todo []dataset.Instance, m *results.Manifest) (began bool, err error) {
	path := filepath.Join(s.flags.output, "batch.log")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return false, fault.New(fault.Host, "opening the run's log", err)
	}
	logFile := s.mask.Writer(printable.NewWriter(file))
	defer func() { _ = errors.Join(logFile.Flush(), file.Close()) }() // the log is a courtesy
	d := s.newDisplay(s.flags.quiet, s.flags.json, len(s.selected), s.flags.workers.n)
	log := d.logger(logFile)
	s.store.SetLog(log)
	defer func() {
		// A display that cannot be written to is no reason for a run to fail.
		if err := d.Close(); err != nil {
			log.Info("showing progress", "err", err)
		}
	}()
	ctx, sig, stop := watchSignals(ctx, d.say, s.stderr)
	defer stop()
	model, err := s.model.open(opening{log, heard(s.store.Records())})
	if err != nil {
		return false, err
	}
	host, err := sandbox.Start(ctx, s.hostConfig(todo, sig.drain, d, log))
	if err != nil {
		return false, err
	}
	defer func() {
		if err := host.Close(ctx); err != nil {
			log.Error("closing what sandboxes ran on", "err", err)
		}
	}()
	m.Git = s.git.known()
	if err := s.store.WriteManifest(m); err != nil {
		return false, err
	}
	if s.flags.workers.auto {
		d.say(s.flags.workers.why)
		log.Info(s.flags.workers.why)
	}
	kept := len(s.selected) - len(todo)
	d.Event(progress.Event{Time: time.Now(), Type: progress.RunStart, Done: kept, Total: len(s.selected), Cost: s.store.Spent()})
	budget := runner.NewBudget(s.flags.totalCost, s.store.Spent(), callEstimate(s.store.Records()))
	if p := s.model.price; p != nil {
		budget.Guess(guessedInput*p.Input + guessedOutput*p.Output)
	}
	sum, err := runner.Run(ctx, runner.Config{
		Width: runner.NewWidth(s.flags.workers.n), Retries: s.retries, Drain: sig.drain, OnEvent: d.show, Log: log,
		Budget: budget,
		Outage: func(err error) bool { return errors.Is(err, docker.ErrOutage) },
		Gate:   host,
	}, runner.List(todo), s.solver(model, host))
	d.Event(progress.Event{Time: time.Now(), Type: progress.RunEnd, Done: kept + sum.Final, Total: len(s.selected), Cost: s.store.Spent()})
	s.budgetMet = sum.Budget
	if err == nil && sig.drained.Load() && sum.Pending > 0 {
		err = errInterrupted
	}
	return true, err
}

// heard reports whether a model has answered in one of the attempts.
func heard(records []results.Record) bool {
	return slices.ContainsFunc(records, func(r results.Record) bool { return r.Attempt > 0 && r.Steps > 0 })
}

// A call that may have been charged, and before which no other has told its cost, is
// taken to have had so many tokens: a long first prompt and a long reply.
const (
	guessedInput  = 10_000
	guessedOutput = 2_000
)

// callEstimate is what a call may cost, by what those of earlier runs did: the
// highest mean of an attempt.
func callEstimate(records []results.Record) float64 {
	most := 0.0
	for _, r := range records {
		most = max(most, r.Cost/float64(max(1, r.Steps)))
	}
	return most
}

// hostConfig says where the instances of todo run.
func (s *sweep) hostConfig(todo []dataset.Instance, drain <-chan struct{}, d display, log *slog.Logger) sandbox.Config {
	c := run.Environment(s.cfg, s.getenv)
	limit := c.Docker.PullTimeout
	c.Docker = docker.FromEnv(s.getenv, s.home)
	c.Docker.PullTimeout, c.Docker.Before, c.Docker.Patience, c.Docker.Pulls = limit, engineHook(s.inject), s.flags.engineWait, s.flags.pulls
	c.State, c.Prefix, c.Lease = sandbox.StateDir(s.getenv, s.home), s.flags.imagePrefix, leasePath(s.flags.output)
	c.Images = imagecache.Options{Budget: s.flags.budget, Reserve: s.flags.reserve, Ahead: s.flags.prefetch}
	c.Instances, c.Drain, c.Notify, c.Log = todo, drain, d.say, log
	c.Pulled = func(instance string, p imagecache.Progress) {
		d.Event(progress.Event{Time: time.Now(), Type: progress.Pull, Instance: instance, Bytes: p.Current, BytesTotal: p.Total})
	}
	return c
}

func (s *sweep) solver(model solver.Models, host *sandbox.Host) *solver.Solver {
	return solver.New(solver.Config{
		Loop: s.loop, Models: injectedModels(model, s.inject), ModelName: s.cfg.Model.ModelName, Sandboxes: sandboxes{host}, Store: s.store,
		ScrubGitHistory: !s.cfg.Environment.KeepGitHistory, Scrubs: host.CPUs(), AllowCommitMismatch: s.cfg.Environment.AllowCommitMismatch,
		Startup: startup(s.cfg.Run.EnvStartupCommand), Settings: s.settings, Prompts: s.cfg.Prompts(), Version: version(),
		Salvage: s.flags.salvage, RestartDiverged: s.retries[string(results.Diverged)] > 0,
	})
}

// startup renders run.env_startup_command, whose variables are a row's columns.
func startup(template string) func(dataset.Instance) (string, error) {
	return func(in dataset.Instance) (string, error) {
		if template == "" {
			return "", nil
		}
		command, err := agent.RenderTemplate("run.env_startup_command", template, in.Fields)
		if err != nil {
			return "", fault.New(fault.Usage, "instance "+in.ID, err).WithHint("this template knows the columns of the instance's row: %s",
				strings.Join(slices.Sorted(maps.Keys(in.Fields)), ", "))
		}
		return command, nil
	}
}

// conclude prints the table and chooses how the command ends.
func (s *sweep) conclude(runErr error) error {
	if err := s.store.Close(); err != nil {
		return errors.Join(runErr, err)
	}
	var out io.Writer = s.stdout
	if s.flags.json {
		out = s.stderr // standard output holds events only
	}
	err := report.Summary(out, report.SummaryData{
		Asked: ids(s.selected), Records: s.store.Records(), Spent: s.store.Spent(),
		Elapsed: time.Since(s.started),
	})
	if err == nil {
		_, err = fmt.Fprintf(out, "\npredictions   %s\ntrajectories  %s\n",
			filepath.Join(s.flags.output, "preds.json"), filepath.Join(s.flags.output, "INSTANCE", "INSTANCE.traj.json"))
	}
	if errors.Is(err, syscall.EPIPE) {
		err = nil // whoever reads the table has seen enough; the work is on disk
	}
	if s.budgetMet {
		fmt.Fprintf(s.stderr, "batch: the cost limit of %.2f USD is reached; a higher --cost-limit-total goes on from here\n", s.flags.totalCost)
	}
	if runErr = errors.Join(runErr, err); runErr != nil {
		return runErr
	}
	for _, in := range s.selected {
		if _, done := s.store.Finished(in.ID); !done {
			return errIncomplete
		}
	}
	return nil
}

func ids(list []dataset.Instance) []string {
	ids := make([]string, len(list))
	for i, in := range list {
		ids[i] = in.ID
	}
	return ids
}
