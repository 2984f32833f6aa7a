package run

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/docker"
	"batch.example/batch/imagecache"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/solver"
	"batch.example/batch/vocab"
)

// View shows a run to a person while it works. Its methods are called from many goroutines
// at once.
type View interface {
	Say(text string) // shows a line
	Event(runner.Event)
	Pulled(instance string, p imagecache.Progress)
	Graded(grades.Grade) // called when a grade is durable
	// Progress is called when the first instance is about to start, and again
	// when the last has ended. Done is how many of the selected instances have a result,
	// and spent is the cost of all runs into the directory.
	Progress(ended bool, done int, spent float64)
	// Log returns a handler that gets all log records, or nil. They are written to
	// the run's own file in any case.
	Log() slog.Handler
}

// silent is a View that shows nothing.
type silent struct{}

func (silent) Say(string)                         {}
func (silent) Event(runner.Event)                 {}
func (silent) Pulled(string, imagecache.Progress) {}
func (silent) Graded(grades.Grade)                {}
func (silent) Progress(bool, int, float64)        {}
func (silent) Log() slog.Handler                  { return nil }

// Work runs the instances that are left, until all have ended, or until drain is closed
// and the running ones have ended. Canceling ctx also stops the running ones; the next run
// resumes them. The Summary says how each instance ended. A nil View shows nothing.
func (r *Run) Work(ctx context.Context, drain <-chan struct{}, v View) error {
	return r.work(ctx, drain, v, nil)
}

// work is Work of a run that may share something with others; nil: nothing.
func (r *Run) work(ctx context.Context, drain <-chan struct{}, v View, with *shared) error {
	if len(r.todo)+len(r.ungraded) == 0 && r.Jobs == nil {
		return nil
	}
	if v == nil {
		v = silent{}
	}
	log, closeLog, err := rundir.OpenLog(r.Output, r.Store.Mask, v.Log())
	if err != nil {
		return err
	}
	defer closeLog()
	r.logAsked(log)
	r.store.SetLog(log)
	// Jobs that come have different authors, so that a refusal is about one of them.
	models, err := r.openModel(log, r.Jobs != nil || modelReplied(r.store.Records()))
	if err != nil {
		return err
	}
	r.manifest.Git = r.Git()
	if err := r.store.WriteManifest(r.manifest); err != nil { // before anything slow: a resume needs it
		return err
	}
	host, err := r.startHost(ctx, r.hostConfig(drain, v, log), with)
	if err != nil {
		return err
	}
	defer func() {
		if err := host.Close(ctx); err != nil {
			log.Error("removing containers and closing the connection to the engine", "err", err)
		}
	}()
	if r.WidthWhy != "" {
		v.Say(r.WidthWhy)
		log.Info(r.WidthWhy)
	}
	err = r.attempt(ctx, drain, v, log, host, models, with)
	r.manifest.Git = r.Git()
	return errors.Join(err, completeManifest(r.store, r.manifest))
}

// attempt runs the pool.
func (r *Run) attempt(ctx context.Context, drain <-chan struct{}, v View, log *slog.Logger, host *sandbox.Host, models solver.Models, with *shared) (err error) {
	r.began = true
	kept := len(r.Instances) - len(r.todo)
	var budget *runner.Budget
	if with == nil {
		var share *sweeps.Share
		if budget, share, err = r.sharedBudget(); err != nil {
			return err
		}
		if share != nil {
			defer func() { err = errors.Join(err, share.Close()) }()
		}
	}
	drain, stop := stoppable(drain)
	defer stop()
	g, err := r.startGrading(ctx, drain, v, log, host, stop)
	if err != nil {
		return err
	}
	v.Progress(false, kept, r.store.Spent())
	jobs, entered := runner.List(r.todo), func() {}
	if r.Jobs != nil {
		jobs = r.Jobs
	}
	if with != nil {
		jobs, budget, entered = with.jobs, with.budget, with.jobs.Entered
	}
	r.sum, err = runner.Run(ctx, runner.Config{
		Width: r.Width, Retries: r.Retries, Drain: drain, OnEvent: v.Event, Log: log,
		Budget: budget, OnEnter: entered,
		Outage: func(err error) bool { return errors.Is(err, docker.ErrOutage) },
		Gate:   host.ShortOfMemory,
	}, jobs, g.worker(r.solver(models, host, g, log)))
	err = errors.Join(err, r.finishGrading(g))
	v.Progress(true, kept+r.sum.Final, r.store.Spent())
	return err
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

// logAsked logs what the run was asked to do.
func (r *Run) logAsked(log *slog.Logger) {
	d := r.About.Dataset
	log.Info("run started", "command", "batch "+strings.Join(r.Argv, " "), "version", r.About.Batch,
		"dataset", d.Name, "split", d.Split, "digest", d.Digest, "selection", d.Selection,
		"instances", len(r.Instances), "todo", len(r.todo), "model", r.Settings.Model.ModelName,
		"workers", r.Width.N(), "output", r.Output)
}

// startHost starts what opens the sandboxes.
func (r *Run) startHost(ctx context.Context, c sandbox.Config, with *shared) (*sandbox.Host, error) {
	if with == nil {
		return sandbox.Start(ctx, c)
	}
	c.Name = with.name
	return with.boxes.Start(ctx, c)
}

// hostConfig says where the instances run.
func (r *Run) hostConfig(drain <-chan struct{}, v View, log *slog.Logger) sandbox.Config {
	c := r.Sandboxes
	c.Lease, c.Instances, c.Drain = rundir.Lease(r.Output), r.todo, drain
	if r.Earlier != nil && r.Earlier.Owned {
		c.From = rundir.Lease(r.Earlier.Dir)
	}
	c.Notify, c.Pulled, c.Log = v.Say, v.Pulled, log
	return c
}

// budget returns the run's cost limit, with what earlier runs have spent.
func (r *Run) budget() *runner.Budget {
	b := runner.NewBudget(r.CostLimit, r.Beside+r.store.Spent(), callEstimate(r.store.Records()))
	b.Guess(r.guess())
	return b
}

// sharedBudget is budget for work: the cells of a sweep share their limit, also those that
// other processes work in. Share is nil if nothing is shared; otherwise it must be closed.
func (r *Run) sharedBudget() (b *runner.Budget, share *sweeps.Share, err error) {
	if r.Sweep == "" || r.CostLimit <= 0 {
		return r.budget(), nil, nil
	}
	share, err = sweeps.OpenShare(r.Sweep, []string{filepath.Base(r.Output)}, r.store.Spent())
	if err != nil {
		return nil, nil, err
	}
	b = runner.NewBudget(r.CostLimit, r.store.Spent(), callEstimate(r.store.Records()))
	b.Guess(r.guess())
	b.Share(share)
	return b, share, nil
}

// guess is what a call may cost before one is known to have cost something; 0: not known.
func (r *Run) guess() float64 {
	if r.Model.Price == nil {
		return 0
	}
	cost, _ := r.Model.Price.Cost(guessed, "")
	return cost
}

// modelReplied reports whether a model has replied in one of the attempts.
func modelReplied(records []results.Record) bool {
	return slices.ContainsFunc(records, func(r results.Record) bool { return r.Attempt > 0 && r.Steps > 0 })
}

// guessed is the usage that is assumed for a call that may have been charged, until a call
// has reported its cost: a long first prompt and a long reply.
var guessed = vocab.Usage{Input: 10_000, Output: 2_000}

// callEstimate estimates the cost of a call from earlier runs: the highest average cost per
// call of any attempt, and what was reserved for calls that were not answered.
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

func (r *Run) solver(models solver.Models, host *sandbox.Host, g *grader, log *slog.Logger) *solver.Solver {
	env := r.Settings.Environment
	c := solver.Config{
		Loop: r.Loop, Models: models, ModelName: r.Settings.Model.ModelName, Sandboxes: sandboxes{host, g}, Store: solver.In(r.store),
		ScrubGitHistory: !env.KeepGitHistory, Scrubs: host.CPUs(), AllowCommitMismatch: env.AllowCommitMismatch,
		Startup: Startup(r.Settings), Settings: r.settingsOf, Mask: r.Store.Mask, Listen: r.Listen,
		Salvage: r.Salvage, RestartDiverged: r.Retries[string(vocab.OutcomeDiverged)] > 0,
		Window: r.Model.Window, Uncounted: r.Model.Uncounted, Rewrite: r.Model.Rewrite, Talk: r.Talk, Servers: r.Servers, Log: log,
	}
	if r.Model.Rewrite == nil { // otherwise they are not exceeded
		c.MaxMessages, c.MaxTokens = r.Settings.Agent.ContextMessages, r.Settings.ContextLimit(r.Model.Window)
	}
	return solver.New(c)
}
