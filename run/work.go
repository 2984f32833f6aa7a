package run

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/solver"
	"batch.example/batch/vocab"
)

// View is told how the work goes, from many goroutines at once.
type View interface {
	Say(text string) // a line for a person
	Event(runner.Event)
	Pulled(instance string, p imagecache.Progress)
	// Progress tells when the first instance is about to be admitted, and again
	// when the last has ended: how many of those asked for have a result, and what
	// all runs into the directory have cost.
	Progress(ended bool, done int, spent float64)
	// Log takes what is logged; nil where nobody wants it. The run's own file has
	// it anyway.
	Log() slog.Handler
}

// nobody is who sees nothing.
type nobody struct{}

func (nobody) Say(string)                         {}
func (nobody) Event(runner.Event)                 {}
func (nobody) Pulled(string, imagecache.Progress) {}
func (nobody) Progress(bool, int, float64)        {}
func (nobody) Log() slog.Handler                  { return nil }

// Work runs what is to be done, until all has ended or drain is closed and what was
// under way has ended. Cancelling ctx stops that too: it is resumed by the next run.
// What befalls single instances is in the Summary.
// A nil View is nobody's.
func (r *Run) Work(ctx context.Context, drain <-chan struct{}, v View) error {
	if len(r.todo) == 0 {
		return nil
	}
	if v == nil {
		v = nobody{}
	}
	log, closeLog, err := r.openLog(v.Log())
	if err != nil {
		return err
	}
	defer closeLog()
	r.store.SetLog(log)
	models, err := r.openModel(log, heard(r.store.Records()))
	if err != nil {
		return err
	}
	r.manifest.Git = r.Git()
	if err := r.store.WriteManifest(r.manifest); err != nil { // before anything that may take its time: a resume needs it
		return err
	}
	host, err := sandbox.Start(ctx, r.hostConfig(drain, v, log))
	if err != nil {
		return err
	}
	defer func() {
		if err := host.Close(ctx); err != nil {
			log.Error("leaving the engine", "err", err)
		}
	}()
	if r.WidthWhy != "" {
		v.Say(r.WidthWhy)
		log.Info(r.WidthWhy)
	}
	err = r.attempt(ctx, drain, v, log, host, models)
	r.manifest.Git = r.Git()
	return errors.Join(err, completeManifest(r.store, r.manifest))
}

// attempt runs the pool.
func (r *Run) attempt(ctx context.Context, drain <-chan struct{}, v View, log *slog.Logger, host *sandbox.Host, models solver.Models) (err error) {
	r.began = true
	kept := len(r.Instances) - len(r.todo)
	v.Progress(false, kept, r.store.Spent())
	r.sum, err = runner.Run(ctx, runner.Config{
		Width: r.Width, Retries: r.Retries, Drain: drain, OnEvent: v.Event, Log: log,
		Budget: r.budget(),
		Outage: func(err error) bool { return errors.Is(err, docker.ErrOutage) },
		Gate:   host.Closed,
	}, runner.List(r.todo), r.solver(models, host))
	v.Progress(true, kept+r.sum.Final, r.store.Spent())
	return err
}

// openLog opens the run's own log, beside what a person sees of it.
func (r *Run) openLog(view slog.Handler) (*slog.Logger, func(), error) {
	file, err := os.OpenFile(filepath.Join(r.Output, "batch.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fault.New(fault.Host, "opening the run's log", err)
	}
	out := r.Store.Mask.Writer(printable.NewWriter(file))
	var handler slog.Handler = slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelInfo})
	if view != nil {
		handler = slog.NewMultiHandler(view, handler)
	}
	return slog.New(handler), func() { _ = errors.Join(out.Flush(), file.Close()) }, nil // the log is a courtesy
}

// hostConfig says where the instances run.
func (r *Run) hostConfig(drain <-chan struct{}, v View, log *slog.Logger) sandbox.Config {
	c := r.Sandboxes
	c.Lease, c.Instances, c.Drain = lease(r.Output), r.todo, drain
	c.Notify, c.Pulled, c.Log = v.Say, v.Pulled, log
	return c
}

// budget is what is left of the cost limit.
func (r *Run) budget() *runner.Budget {
	b := runner.NewBudget(r.CostLimit, r.store.Spent(), callEstimate(r.store.Records()))
	if p := r.Model.Price; p != nil {
		b.Guess(p.Cost(guessed))
	}
	return b
}

// heard reports whether a model has answered in one of the attempts.
func heard(records []results.Record) bool {
	return slices.ContainsFunc(records, func(r results.Record) bool { return r.Attempt > 0 && r.Steps > 0 })
}

// A call that may have been charged, and before which no other has told its cost, is
// taken to have had so many tokens: a long first prompt and a long reply.
var guessed = vocab.Usage{Input: 10_000, Output: 2_000}

// callEstimate is what a call may cost, by what those of earlier runs did: the
// highest mean of an attempt.
func callEstimate(records []results.Record) float64 {
	most := 0.0
	for _, r := range records {
		most = max(most, r.Cost/float64(max(1, r.Steps)))
	}
	return most
}

func (r *Run) solver(models solver.Models, host *sandbox.Host) *solver.Solver {
	env := r.Settings.Environment
	return solver.New(solver.Config{
		Loop: r.Loop, Models: models, ModelName: r.Settings.Model.ModelName, Sandboxes: sandboxes{host}, Store: solver.In(r.store),
		ScrubGitHistory: !env.KeepGitHistory, Scrubs: host.CPUs(), AllowCommitMismatch: env.AllowCommitMismatch,
		Startup: startup(r.Settings.Run.EnvStartupCommand), Settings: r.madeUnder,
		Salvage: r.Salvage, RestartDiverged: r.Retries[string(vocab.OutcomeDiverged)] > 0,
	})
}

// sandboxes are a host's as the solver asks for them.
type sandboxes struct{ *sandbox.Host }

// Open implements solver.Sandboxes.
func (s sandboxes) Open(ctx context.Context, o sandbox.Opening) (solver.Sandbox, error) {
	box, err := s.Host.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return box, nil
}
