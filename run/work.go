package run

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/attempt"
	"batch.example/batch/results"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// Work runs the instances that are left; see [rundir.Job.Work]. Show is called with each event, from
// many goroutines at once; it may be nil. If ctx is canceled, the next run resumes the stopped
// instances. The Summary says how each instance ended.
func (r *Run) Work(ctx context.Context, drain <-chan struct{}, show func(vocab.Event)) error {
	return r.group.Work(ctx, drain, show)
}

// begin does the preparations of work that need no engine.
func (r *Run) begin(log *slog.Logger, v rundir.View) (err error) {
	r.log, r.view = log, v.Cell(r.name)
	if r.Output != r.group.dir { // a cell of a sweep has a log of its own
		own, done, err := rundir.OpenLog(r.Output, r.Store.Mask, r.view)
		if err != nil {
			return err
		}
		r.log, r.closeLog = own, done
	}
	r.logAsked()
	r.store.SetLog(r.log)
	// Callers of a server are different authors, so that a refusal may concern only one of them.
	if r.models, err = r.openModel(r.log, r.Serving || modelReplied(r.store.Records())); err != nil {
		return err
	}
	r.manifest.Git = r.Git()
	return r.store.WriteManifest(r.manifest) // before anything slow: a resume needs it
}

// connect starts the host of the run's sandboxes.
func (r *Run) connect(ctx context.Context, boxes *sandbox.Shared) (err error) {
	if r.host, err = boxes.Start(ctx, r.boxes()); err != nil {
		boxes.Skip(r.name, r.todo)
		return err
	}
	if r.WidthWhy != "" {
		r.view.Say(r.WidthWhy)
		r.log.Info(r.WidthWhy)
	}
	return nil
}

// work runs the instances, with the settings that all runs of the group have.
func (r *Run) work(ctx context.Context, pool runner.Config) error {
	r.began = true
	pool.OnEvent, pool.Log, pool.Halts = r.view.Event, r.log, r.part.Halts
	pool.Width, pool.Retries = r.Width, r.Retries
	err := r.attempt(ctx, pool)
	r.manifest.Git = r.Git()
	return errors.Join(err, completeManifest(r.store, r.manifest))
}

// attempt runs the pool.
func (r *Run) attempt(ctx context.Context, pool runner.Config) error {
	drain, stop := stoppable(pool.Drain)
	defer stop()
	pool.Drain = drain
	g, err := r.startGrading(ctx, pool, stop)
	if err != nil {
		return err
	}
	r.sum, err = runner.Run(ctx, pool, r.roster, r.solver(g))
	return errors.Join(err, r.finishGrading(g))
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
func (r *Run) logAsked() {
	d := r.About.Dataset
	r.log.Info("run started", "command", "batch "+strings.Join(r.Argv, " "), "version", r.About.Batch,
		"dataset", d.Name, "split", d.Split, "digest", d.Digest, "selection", d.Selection,
		"instances", len(r.Instances), "todo", len(r.todo), "model", r.Settings.Model.ModelName,
		"workers", r.Width.N(), "output", r.Output)
}

// boxes returns the configuration of the instances' sandboxes.
func (r *Run) boxes() sandbox.Config {
	c := rundir.Boxes(r.Sandboxes, r.Output, nil, r.view, r.log)
	c.Name = r.name
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

// program returns the program that is the agent; nil if there is none.
func (r *Run) program() *attempt.Program {
	p := &r.Settings.Agent.Program
	if len(p.Command) == 0 {
		return nil
	}
	_, alias, _ := strings.Cut(r.Settings.Model.ModelName, "/")
	return &attempt.Program{
		Wire: p.Wire, Model: r.Model.Name, Alias: cmp.Or(alias, r.Model.Name), Helper: p.Helper, Leaves: p.Leaves,
		Launch: func(at attempt.At) (l attempt.Launched, err error) {
			vars := map[string]any{"task": at.Task, "url": at.URL, "key": at.Key, "model": at.Model, "home": at.Home}
			if p.Files != "" {
				vars["files"] = engine.FilesDir
			}
			program, err := r.Settings.Launch(vars)
			return attempt.Launched(program), err
		},
	}
}

func (r *Run) solver(g *grader) *attempt.Solver {
	env := r.Settings.Environment
	c := attempt.Config{
		Loop: r.Loop, Models: r.models, ModelName: r.Settings.Model.ModelName, Sandboxes: sandboxes{r.host, g}, Store: r.store,
		ScrubGitHistory: !env.KeepGitHistory && len(r.tasks) == 0, Verify: r.verify, Scrubs: r.host.CPUs(), AllowCommitMismatch: env.AllowCommitMismatch,
		Startup: Startup(r.Settings), Settings: r.settingsOf, Mask: r.Store.Mask, Listen: r.Listen,
		Salvage: r.Salvage, RestartDiverged: r.Retries[string(vocab.OutcomeDiverged)] > 0,
		ModelFacts: r.Model.ModelFacts, Rewrite: r.Model.Rewrite, Talk: r.Talk, Servers: r.Servers, Log: r.log,
		Ears: ears{r}, Limits: r.limited, Program: r.program(), Pictures: r.pictures(),
	}
	if g != nil {
		c.Saved = g.ended
	}
	if r.Model.Rewrite == nil { // otherwise the limits are not exceeded
		c.MaxMessages, c.MaxTokens = r.Settings.Agent.ContextMessages, r.Settings.ContextLimit(r.Model.Window)
	}
	return attempt.New(c)
}
