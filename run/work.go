package run

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/results"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// Work runs the instances that are left; see [rundir.Job.Work]. Show is called with each event, from
// many goroutines at once; it may be nil. If ctx is canceled, the next run resumes the stopped
// instances. The Summary says how each instance ended.
func (r *Run) Work(ctx context.Context, drain <-chan struct{}, show func(vocab.Event)) error {
	return r.work(ctx, drain, rundir.NewView(show), nil)
}

// work is Work for a run that may share parts with others; nil: it shares nothing.
func (r *Run) work(ctx context.Context, drain <-chan struct{}, v rundir.View, with *shared) error {
	if len(r.todo)+len(r.ungraded) == 0 && r.Jobs == nil {
		return nil
	}
	var models attempt.Models
	var host *sandbox.Host
	var steer rundir.Steerer
	if with == nil {
		if r.by = r.steer(); r.by != nil {
			steer = r.by
		}
	}
	return rundir.Job{
		Dir: r.Output, Mask: r.Store.Mask, Boxes: r.boxes(), Steer: steer,
		Begin: func(log *slog.Logger) (err error) {
			models, err = r.begin(log)
			return err
		},
		Connect: func(ctx context.Context, c sandbox.Config) (_ rundir.Engine, err error) {
			if with == nil {
				host, err = sandbox.Start(ctx, c)
			} else {
				c.Name = with.name
				host, err = with.boxes.Start(ctx, c)
			}
			if err == nil && r.WidthWhy != "" {
				c.Notify(r.WidthWhy)
				c.Log.Info(r.WidthWhy)
			}
			return host, err
		},
		Pool: func(ctx context.Context, pool runner.Config, v rundir.View) error {
			r.began = true
			pool.Width, pool.Retries = r.Width, r.Retries
			err := r.attempt(ctx, pool, v, host, models, with)
			r.manifest.Git = r.Git()
			return errors.Join(err, completeManifest(r.store, r.manifest))
		},
		Progress: r.progress,
	}.Work(ctx, drain, v)
}

// begin does the preparations of work that need no engine.
func (r *Run) begin(log *slog.Logger) (attempt.Models, error) {
	r.logAsked(log)
	r.store.SetLog(log)
	// Jobs have different authors, so that a refusal may concern only one of them.
	models, err := r.openModel(log, r.Jobs != nil || modelReplied(r.store.Records()))
	if err != nil {
		return nil, err
	}
	r.manifest.Git = r.Git()
	return models, r.store.WriteManifest(r.manifest) // before anything slow: a resume needs it
}

// progress says how far the run is.
func (r *Run) progress() vocab.Event {
	s := r.Summary()
	lost := results.UnansweredOf(s.Records)
	e := vocab.Event{
		Done: len(s.Asked) - len(r.todo) - r.left - int(r.kept.Load()) + r.sum.Final, Total: len(s.Asked),
		Cost: s.Spent, Lost: lost.Lost, Held: lost.Held, Outcomes: s.Outcomes(),
	}
	if s.Host != nil {
		e.Error = s.Host.Error()
	}
	return e
}

// attempt runs the pool.
func (r *Run) attempt(ctx context.Context, pool runner.Config, v rundir.View, host *sandbox.Host, models attempt.Models, with *shared) (err error) {
	jobs, done, err := r.jobs(&pool, with)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	var stop func()
	pool.Drain, stop = stoppable(pool.Drain)
	defer stop()
	g, err := r.startGrading(ctx, pool, v, host, stop)
	if err != nil {
		return err
	}
	r.sum, err = runner.Run(ctx, pool, jobs, r.solver(models, host, g, pool.Log))
	return errors.Join(err, r.finishGrading(g))
}

// jobs returns the instances to run, and gives the pool the budget for them. Done must be called
// when they have ended.
func (r *Run) jobs(pool *runner.Config, with *shared) (list runner.Source[dataset.Instance], done func() error, err error) {
	if with != nil {
		pool.Budget, pool.OnEnter = with.budget, with.jobs.Entered
		if r.part != nil {
			pool.Pause, pool.Halts, pool.OnLeave = r.by.Pause(), r.part.Halts, with.jobs.Ended
			r.takeMore(with.jobs)
		}
		return with.jobs, func() error { return nil }, nil
	}
	pool.Budget, done, err = r.limit().Open(r.costs())
	switch {
	case r.Jobs != nil:
		return r.Jobs, done, err
	case r.by == nil:
		return runner.List(r.todo), done, err
	}
	roster := runner.NewRoster(r.todo)
	r.by.Opened(pool.Budget)
	pool.Pause, pool.Halts, pool.OnLeave = r.by.Pause(), r.part.Halts, roster.Ended
	r.takeMore(roster)
	return roster, done, err
}

// stoppable returns a channel that is closed with drain, or by stop, which must be called.
func stoppable(drain <-chan struct{}) (either <-chan struct{}, stop func()) {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		select {
		case <-drain: // a nil channel never drains
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx.Done(), stop
}

// logAsked logs the run's request.
func (r *Run) logAsked(log *slog.Logger) {
	d := r.About.Dataset
	log.Info("run started", "command", "batch "+strings.Join(r.Argv, " "), "version", r.About.Batch,
		"dataset", d.Name, "split", d.Split, "digest", d.Digest, "selection", d.Selection,
		"instances", len(r.Instances), "todo", len(r.todo), "model", r.Settings.Model.ModelName,
		"workers", r.Width.N(), "output", r.Output)
}

// boxes returns the configuration of the instances' sandboxes.
func (r *Run) boxes() sandbox.Config {
	c := r.Sandboxes
	c.Instances = r.todo
	if r.Earlier != nil && r.Earlier.Owned {
		c.From = rundir.Lease(r.Earlier.Dir)
	}
	return c
}

// limit returns the run's cost limit.
func (r *Run) limit() rundir.Limit {
	return rundir.Limit{USD: r.CostLimit / float64(max(1, r.Shards)), Sweep: r.Sweep, Cells: []string{filepath.Base(r.Output)}, Beside: r.Beside}
}

// costs returns the costs of earlier runs.
func (r *Run) costs() rundir.Costs {
	return rundir.Costs{Spent: r.read.Spent(), Highest: callEstimate(r.read.Records()), Guess: r.Model.Guess(guessed)}
}

// Guess returns the US dollars that a call with this usage may cost; 0: unknown.
func (m Model) Guess(u vocab.Usage) float64 {
	if m.Price == nil {
		return 0
	}
	cost, _ := m.Price.Cost(u, "")
	return cost
}

// modelReplied reports whether a model has replied in one of the attempts.
func modelReplied(records []results.Record) bool {
	return slices.ContainsFunc(records, func(r results.Record) bool { return r.Attempt > 0 && r.Steps > 0 })
}

// guessed is the assumed usage of a call that may have been charged, until a call has
// reported its cost: a long first prompt and a long reply.
var guessed = vocab.Usage{Input: 10_000, Output: 2_000}

// callEstimate estimates the cost of a call from earlier runs: the highest average cost per
// call of any attempt, and the amounts reserved for unanswered calls.
func callEstimate(records []results.Record) float64 {
	most := 0.0
	for _, r := range records {
		most = max(most, r.Cost/float64(max(1, r.Steps)))
		if r.Cost > 0 && r.Lost > 0 {
			most = max(most, r.Held/float64(r.Lost))
		}
	}
	return most
}

func (r *Run) solver(models attempt.Models, host *sandbox.Host, g *grader, log *slog.Logger) *attempt.Solver {
	env := r.Settings.Environment
	c := attempt.Config{
		Loop: r.Loop, Models: models, ModelName: r.Settings.Model.ModelName, Sandboxes: sandboxes{host, g}, Store: attempt.In(r.store),
		ScrubGitHistory: !env.KeepGitHistory, Scrubs: host.CPUs(), AllowCommitMismatch: env.AllowCommitMismatch,
		Startup: Startup(r.Settings), Settings: r.settingsOf, Mask: r.Store.Mask, Listen: r.Listen,
		Salvage: r.Salvage, RestartDiverged: r.Retries[string(vocab.OutcomeDiverged)] > 0,
		Window: r.Model.Window, StrictRoles: r.Model.StrictRoles, Uncounted: r.Model.Uncounted, Rewrite: r.Model.Rewrite, Talk: r.Talk, Servers: r.Servers, Log: log,
	}
	if g != nil {
		c.Saved = g.ended
	}
	if r.by != nil {
		c.Ears, c.Limits = ears{r, log}, r.limited
	}
	if r.Model.Rewrite == nil { // otherwise the limits are not exceeded
		c.MaxMessages, c.MaxTokens = r.Settings.Agent.ContextMessages, r.Settings.ContextLimit(r.Model.Window)
	}
	return attempt.New(c)
}
