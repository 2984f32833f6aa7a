package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/inject"
	"batch.example/batch/journal"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
)

// sweep is one `batch run` whose flags are read.
type sweep struct {
	*app
	flags    runFlags
	cfg      *config.Config
	inject   *inject.Plan
	loop     *agent.Loop
	ds       *dataset.Dataset
	selected []dataset.Instance
	git      *run.GitProbe
	started  time.Time
}

// run works through the selected instances and prints how they ended.
func (s *sweep) run(ctx context.Context) (err error) {
	c, err := s.config()
	if err != nil {
		return err
	}
	r, err := run.Open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Todo() > 0 {
		err = s.work(ctx, r)
		if !r.Summary().Began {
			return err
		}
	}
	return s.conclude(r, err)
}

// config is what the run is. What can be refused is refused before the directory is
// touched.
func (s *sweep) config() (c run.Config, err error) {
	model, warning, err := run.FindModel(s.cfg, s.flags.totalCost, s.getenv)
	if err != nil {
		return c, err
	}
	tell := func(text string) { fmt.Fprintln(s.stderr, "batch: "+text) }
	if warning != "" {
		tell(warning)
	}
	retries, err := runner.ParseRetries(s.flags.retry)
	if err != nil {
		return c, err
	}
	return run.Config{
		Output: s.flags.output, Settings: s.cfg, Loop: s.loop, Instances: s.selected,
		Model: model, Sandboxes: s.sandboxes(),
		Store: results.Options{Durability: journal.Durability(s.flags.durability), Mask: s.mask, Inject: s.inject},
		About: s.about(), Git: s.git.Known, Argv: maskArgs(s.args),
		Width: runner.NewWidth(s.flags.workers.n), WidthWhy: s.flags.workers.why, ByImage: s.flags.order != orderGiven,
		Retries: retries, CostLimit: s.flags.totalCost, Salvage: s.flags.salvage,
		Redo: s.flags.redo, Again: s.flags.retrying, Fresh: s.flags.fresh, Accept: s.flags.accept,
		Tell: tell,
	}, nil
}

// sandboxes says where the instances run.
func (s *sweep) sandboxes() sandbox.Config {
	engine := docker.FromEnv(s.getenv, s.home)
	engine.Patience, engine.Pulls = s.flags.engineWait, s.flags.pulls
	c := run.Environment(s.cfg, engine, s.getenv)
	c.State, c.Prefix = sandbox.StateDir(s.getenv, s.home), s.flags.imagePrefix
	c.Images = imagecache.Options{Budget: s.flags.budget, Reserve: s.flags.reserve, Ahead: s.flags.prefetch}
	return c
}

// about is what the manifest says of this command and its dataset.
func (s *sweep) about() manifest.Manifest {
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
func (f *sourceFlags) selection() string {
	var parts []string
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
func (s *sweep) work(ctx context.Context, r *run.Run) error {
	d := s.newDisplay(s.flags.quiet, s.flags.json, len(s.selected), s.flags.workers.n)
	defer func() { _ = d.Close() }() // a display that cannot be written to is no reason for a run to fail
	ctx, sig, stop := watchSignals(ctx, d.Say, s.stderr)
	defer stop()
	err := r.Work(ctx, sig.drain, d)
	if err == nil && sig.drained.Load() && r.Summary().Pending > 0 {
		err = errInterrupted
	}
	return err
}

// conclude prints the table and chooses how the command ends.
func (s *sweep) conclude(r *run.Run, runErr error) error {
	if err := r.Close(); err != nil {
		return errors.Join(runErr, err)
	}
	var out io.Writer = s.stdout
	if s.flags.json {
		out = s.stderr // standard output holds events only
	}
	sum := r.Summary()
	err := report.Summary(out, report.SummaryData{Asked: sum.Asked, Records: sum.Records, Spent: sum.Spent, Elapsed: time.Since(s.started)})
	if err == nil {
		_, err = fmt.Fprintf(out, "\npredictions   %s\ntrajectories  %s\n",
			filepath.Join(s.flags.output, "preds.json"), filepath.Join(s.flags.output, "INSTANCE", "INSTANCE.traj.json"))
	}
	if errors.Is(err, syscall.EPIPE) {
		err = nil // whoever reads the table has seen enough; the work is on disk
	}
	if sum.Budget {
		fmt.Fprintf(s.stderr, "batch: the cost limit of %.2f USD is reached; a higher --cost-limit-total goes on from here\n", s.flags.totalCost)
	}
	if runErr = errors.Join(runErr, err); runErr != nil {
		return runErr
	}
	if sum.Missing > 0 {
		return errIncomplete
	}
	return nil
}
