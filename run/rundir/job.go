package rundir

import (
	"context"
	"errors"
	"log/slog"

	"batch.example/batch/internal/mask"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
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
	Begin func(*slog.Logger, View) error

	// Connect connects to the engine, with the settings of [Boxes]; nil: the job needs no
	// engine. Its result is closed when the pool has ended.
	Connect func(context.Context, sandbox.Config) (Engine, error)
	Boxes   sandbox.Config // for Connect, without the fields that [Boxes] sets

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
		if err := j.Begin(log, v); err != nil {
			return err
		}
	}
	pool := runner.Config{
		Drain: drain, OnEvent: v.Event, Log: log,
		Outage: func(err error) bool { return errors.Is(err, engine.ErrOutage) || errors.Is(err, engine.ErrNoSpace) },
	}
	if j.Connect != nil {
		connected, err := j.Connect(ctx, Boxes(j.Boxes, j.Dir, drain, v, log))
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

// Boxes returns c for work in a directory: with its lease, and with its view and its log of the images.
func Boxes(c sandbox.Config, dir string, drain <-chan struct{}, v View, log *slog.Logger) sandbox.Config {
	c.Lease, c.Drain, c.Notify, c.Log = Lease(dir), drain, v.Say, log
	c.Pulled = func(instance string, p images.Progress) {
		v.Event(vocab.Event{Type: vocab.EventPull, Instance: instance, Bytes: p.Current, BytesTotal: p.Total})
	}
	return c
}

// tell shows how far the job is.
func (j Job) tell(v View, typ vocab.EventType) {
	e := j.Progress()
	e.Type = typ
	v.Event(e)
}

// Steerer lets other programs watch and change work.
type Steerer interface {
	// Begin is called when the work begins. It returns the View to use in place of v, and a function
	// that is called when the work has ended. Drain makes no further instance begin, and stop
	// ends the running attempts. Draining is closed when no further instance begins, for whatever
	// reason.
	Begin(v View, log *slog.Logger, drain, stop func(), draining <-chan struct{}) (_ View, end func())
}

// steered begins the steering of work, if it has one.
func (j Job) steered(ctx context.Context, drain <-chan struct{}, v View, log *slog.Logger) (_ context.Context, _ <-chan struct{}, _ View, end func()) {
	if j.Steer == nil {
		return ctx, drain, v, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	draining, drainNow := context.WithCancel(context.Background())
	go func() {
		select {
		case <-drain: // a nil channel never drains
			drainNow()
		case <-draining.Done():
		}
	}()
	v, ended := j.Steer.Begin(v, log, drainNow, cancel, draining.Done())
	return ctx, draining.Done(), v, func() {
		ended()
		drainNow()
		cancel()
	}
}

// Limit is a limit on the total cost of a job's calls.
type Limit struct {
	USD    float64  // 0: no limit
	Sweep  string   // folder of a sweep; its cells share the limit, also in other processes; empty: none
	Cells  []string // the cells of the Sweep in which this process works, by folder
	Beside float64  // US dollars of the limit that other cells have spent
}

// Costs are the known costs of a job's calls so far, in US dollars.
type Costs struct {
	Spent   float64 // by earlier jobs in the directory
	Highest float64 // of the most expensive call; 0: unknown
	Guess   float64 // assumed for a call until a first cost is known; 0: unknown
}

// Budget returns the budget for a plan. It does not count what other processes spend
// meanwhile.
func (l Limit) Budget(c Costs) *runner.Budget {
	b := runner.NewBudget(l.USD, l.Beside+c.Spent, c.Highest)
	b.Guess(c.Guess)
	return b
}

// Open returns the budget for work. All cells of a sweep share it, in other processes too.
// Done must be called when the work has ended.
func (l Limit) Open(c Costs) (b *runner.Budget, done func() error, err error) {
	if l.Sweep == "" || l.USD <= 0 {
		return l.Budget(c), func() error { return nil }, nil
	}
	share, err := sweeps.OpenShare(l.Sweep, l.Cells, c.Spent)
	if err != nil {
		return nil, nil, err
	}
	l.Beside = 0 // the share counts it
	b = l.Budget(c)
	b.Share(share)
	return b, share.Close, nil
}
