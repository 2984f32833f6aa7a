package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/progress"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/solver"
)

// reapLimit bounds the removal of what dead runs left.
const reapLimit = time.Minute

// sweep is one `batch run` from the moment something is started.
type sweep struct {
	*app
	flags    runFlags
	cfg      *config.Config
	loop     *agent.Loop
	ds       *dataset.Dataset
	selected []dataset.Instance
	store    *results.Store
	started  time.Time

	digests sync.Map // id of an image that was used -> its digest

	budgetMet bool // the run stopped because its money is spent
}

// run works through the selected instances and prints how they ended.
func (s *sweep) run(ctx context.Context) (err error) {
	// What can be refused is refused before the directory is touched.
	if _, err := s.modelFactory(s.cfg, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if s.store, err = results.Open(s.flags.output, results.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	for _, told := range s.store.Recovered() {
		fmt.Fprintln(s.stderr, "batch: "+told)
	}
	manifest := s.manifest(s.flags, s.cfg, s.ds, s.selected)
	if err := s.reconcile(manifest); err != nil {
		return err
	}
	todo := s.flags.ordered(s.pending())
	if len(todo) == 0 {
		return s.conclude(nil)
	}
	began, err := s.solve(ctx, todo, manifest)
	if !began {
		return err
	}
	return s.conclude(errors.Join(err, completeManifest(s.store, manifest, s.digest)))
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
	defer file.Close()
	d := s.newDisplay(s.flags.quiet, s.flags.json, len(s.selected), s.flags.workers.n)
	log := d.logger(file)
	defer func() {
		// A display that cannot be written to is no reason for a run to fail.
		if err := d.Close(); err != nil {
			log.Info("showing progress", "err", err)
		}
	}()
	ctx, sig, stop := watchSignals(ctx, d.say, s.stderr)
	defer stop()
	model, err := s.modelFactory(s.cfg, log)
	if err != nil {
		return false, err
	}
	connection := docker.FromEnv(s.getenv, s.home)
	connection.Log, connection.Patience = log, s.flags.engineWait
	connection.Pulls, connection.PullTimeout = s.flags.pulls, s.cfg.Environment.PullLimit()
	engine, err := docker.Connect(ctx, connection)
	if err != nil {
		return false, err
	}
	defer engine.Close()
	if err := s.store.WriteManifest(m); err != nil {
		return false, err
	}
	info, err := engine.Info(ctx)
	if err != nil {
		return false, err
	}
	reap(ctx, engine, log, d.say)
	// What the engine was still making for a killed process may come after the
	// first look.
	defer func() { reap(context.WithoutCancel(ctx), engine, log, d.say) }()
	images, endImages, err := s.images(ctx, engine, info, todo, sig.drain, d, log)
	if err != nil {
		return false, err
	}
	defer endImages()
	if s.flags.workers.auto {
		d.say(s.flags.workers.why)
		log.Info(s.flags.workers.why)
	}
	kept := len(s.selected) - len(todo)
	d.Event(progress.Event{Time: time.Now(), Type: progress.RunStart, Done: kept, Total: len(s.selected), Cost: s.store.Spent()})
	sum, err := runner.Run(ctx, runner.Config{
		Workers: s.flags.workers.n, Tries: s.flags.tries, Drain: sig.drain, OnEvent: d.show, Log: log,
		Budget: runner.NewBudget(s.flags.totalCost, s.store.Spent()),
		Outage: func(err error) bool { return errors.Is(err, docker.ErrOutage) },
		Gate:   gate(engine.Host()),
	}, todo, s.solver(model, engine, images, info.CPUs, d), s.store)
	d.Event(progress.Event{Time: time.Now(), Type: progress.RunEnd, Done: kept + sum.Final, Total: len(s.selected), Cost: s.store.Spent()})
	s.budgetMet = sum.Budget
	if err == nil && sig.drained.Load() && sum.Pending > 0 {
		err = errInterrupted
	}
	return true, err
}

// reap removes what dead runs left; that it cannot is no reason for a run to fail.
func reap(ctx context.Context, engine *docker.Engine, log *slog.Logger, say func(string)) {
	ctx, cancel := context.WithTimeout(ctx, reapLimit)
	defer cancel()
	strays, err := engine.Reap(ctx)
	if err != nil {
		log.Warn("removing containers of dead runs", "err", err)
	}
	if len(strays) > 0 {
		say(fmt.Sprintf("removed %d containers of dead runs", len(strays)))
	}
}

func (s *sweep) solver(model solver.Models, engine *docker.Engine, images *imagecache.Cache, cpus int, d display) *solver.Solver {
	boxes := s.newSandboxes(engine, images, s.cfg.Environment, s.flags.imagePrefix, cpus)
	boxes.had = func(image imagecache.Image) { s.digests.Store(image.ID, image.Digest) }
	boxes.pulled = func(instance string, p imagecache.Progress) {
		d.Event(progress.Event{Time: time.Now(), Type: progress.Pull, Instance: instance, Bytes: p.Current, BytesTotal: p.Total})
	}
	return solver.New(solver.Config{
		Loop: s.loop, Models: model, ModelName: s.cfg.Model.ModelName, Sandboxes: boxes, Store: s.store,
		ScrubGitHistory: !s.cfg.Environment.KeepGitHistory,
		Startup:         startup(s.cfg.Run.EnvStartupCommand), Settings: s.cfg.Resolved(), Version: version(),
	})
}

// startup renders run.env_startup_command, whose variables are a row's columns.
func startup(template string) func(dataset.Instance) (string, error) {
	return func(in dataset.Instance) (string, error) {
		if template == "" {
			return "", nil
		}
		return agent.RenderTemplate("run.env_startup_command", template, in.Fields)
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
