package rundir

import (
	"context"
	"errors"
	"log/slog"

	"batch.example/batch/internal/mask"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// Open locks a run directory and prepares the job in it. After an error of prepare, it is
// unlocked again. The caller must close the store.
func Open(dir string, o results.Options, prepare func(*results.Store) error) (*results.Store, error) {
	o.Owner = Owner()
	store, err := results.Open(dir, o)
	if err != nil {
		return nil, err
	}
	if err = identify(dir); err == nil {
		err = prepare(store)
	}
	if err != nil {
		_ = store.Close() // the error says more
		return nil, err
	}
	return store, nil
}

// Job is the work that is left in a directory that this process has locked. Dir, Pool and
// Progress are required.
type Job struct {
	Dir  string
	Mask *mask.Masker // of batch.log

	// Begin is called before the engine is asked for anything; nil ignores.
	Begin func(log *slog.Logger) error

	// Connect connects to the engine, with the common settings of all jobs; nil: the job needs no
	// engine. Its result is closed when the pool has ended.
	Connect func(context.Context, sandbox.Config) (Engine, error)
	Boxes   sandbox.Config // for Connect; without Lease, Drain, Log and the fields that a View sets

	Steer Steerer // nil: other programs cannot watch or change the work

	// Pool does the work. The Config has the common settings of all jobs.
	Pool func(context.Context, runner.Config, View) error
	// Progress says how far the job is: an event with the totals. It is called before the Pool and
	// after it, for the EventRunStart and the EventRunEnd.
	Progress func() vocab.Event
}

// Engine is a connection to an engine: a [sandbox.Host] or a [sandbox.Shared]. It can be closed
// even if ctx is canceled.
type Engine interface {
	ShortOfMemory() string // see [runner.Config].Gate
	Close(ctx context.Context) error
}

// Work opens the log, connects to the engine, runs the pool, and closes log and engine. It ends
// when all instances have ended, or when drain is closed and the running ones have ended. Canceling
// ctx also stops the running ones.
func (j Job) Work(ctx context.Context, drain <-chan struct{}, v View) error {
	log, closeLog, err := OpenLog(j.Dir, j.Mask, v)
	if err != nil {
		return err
	}
	defer closeLog()
	ctx, drain, v, unsteer := j.steered(ctx, drain, v, log)
	defer unsteer()
	if j.Begin != nil {
		if err := j.Begin(log); err != nil {
			return err
		}
	}
	pool := runner.Config{
		Drain: drain, OnEvent: v.Event, Log: log,
		Outage: func(err error) bool { return errors.Is(err, engine.ErrOutage) || errors.Is(err, engine.ErrNoSpace) },
	}
	if j.Connect != nil {
		boxes := j.Boxes
		boxes.Lease, boxes.Drain, boxes.Notify, boxes.Log = Lease(j.Dir), drain, v.Say, log
		boxes.Pulled = func(instance string, p images.Progress) {
			v.Event(vocab.Event{Type: vocab.EventPull, Instance: instance, Bytes: p.Current, BytesTotal: p.Total})
		}
		connected, err := j.Connect(ctx, boxes)
		if err != nil {
			return err
		}
		pool.Gate = connected.ShortOfMemory
		defer func() {
			if err := connected.Close(ctx); err != nil {
				log.Error("removing containers and closing the connection to the engine", "err", err)
			}
		}()
	}
	j.tell(v, vocab.EventRunStart)
	err = j.Pool(ctx, pool, v)
	j.tell(v, vocab.EventRunEnd)
	return err
}

// tell shows how far the job is.
func (j Job) tell(v View, typ vocab.EventType) {
	e := j.Progress()
	e.Type = typ
	v.Event(e)
}
