package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
)

// Config sets how a run goes. The zero value runs one instance at a time,
// without budget, and tries again what fails for a transient reason.
type Config struct {
	Workers int
	Retries Retries         // nil means DefaultRetries
	Backoff time.Duration   // before the second try, doubled for each further one; 0 means 5 s
	Budget  *Budget         // nil means none
	Gate    Gate            // asked before each further instance; nil admits all
	Drain   <-chan struct{} // closed: admit nothing more, let the running ones end
	OnEvent func(Event)     // called from many goroutines at once; nil ignores
	Log     *slog.Logger    // nil discards

	// Outage recognises the transient failure of something that all instances
	// share, such as an engine that was restarted. It uses up no try: the
	// instance is tried again at once, up to ten times, and the Solver waits
	// until that makes sense. Nil recognises none.
	Outage func(error) bool
}

// Summary says how a run ended.
type Summary struct {
	Final   int   // instances with a result
	Failed  int   // instances that ended by our fault
	Pending int   // instances not admitted, or told to stop
	Host    error // the Host fault that stopped admission, if one did
	Budget  bool  // the budget stopped the run
}

// Run attempts every instance, in order as workers come free, and returns when
// all that were admitted have ended and are in the store. Cancelling ctx stops
// the running attempts; they are stored as pending. The error is the store's
// or the host's; what befalls single instances is in the store.
func Run(ctx context.Context, c Config, instances []dataset.Instance, solver Solver, store Store) (Summary, error) {
	r := newRun(c, solver, store)
	group := new(errgroup.Group)
	group.SetLimit(max(1, c.Workers))
	admitted := 0
	for _, in := range instances {
		if !r.open(ctx) {
			break
		}
		// Go blocks until a worker is free, so the door is asked again inside.
		group.Go(func() error {
			if r.enter(ctx) {
				defer r.leave()
				r.instance(ctx, in)
			} else {
				r.count(results.Pending)
			}
			return nil
		})
		admitted++
	}
	_ = group.Wait() // instance errors are outcomes, never the group's
	r.sum.Pending += len(instances) - admitted
	return r.sum, r.sum.Host
}

// run is the state that the workers of one Run share.
type run struct {
	Config
	solver Solver
	store  Store

	started time.Time

	door    chan struct{} // of capacity 1: holds the one instance that the gate is asked for
	mu      sync.Mutex
	sum     Summary
	running int
}

func newRun(c Config, solver Solver, store Store) *run {
	if c.Retries == nil {
		c.Retries = DefaultRetries()
	}
	if c.Backoff <= 0 {
		c.Backoff = 5 * time.Second
	}
	if c.Budget == nil {
		c.Budget = NewBudget(0, 0, 0)
	}
	if c.Outage == nil {
		c.Outage = func(error) bool { return false }
	}
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &run{Config: c, solver: solver, store: store, started: time.Now(), door: make(chan struct{}, 1)}
}

// open reports whether another instance may start.
func (r *run) open(ctx context.Context) bool {
	if ctx.Err() != nil || r.draining() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.Budget.Open() {
		r.sum.Budget = true
	}
	return r.sum.Host == nil && !r.sum.Budget
}

func (r *run) draining() bool {
	select {
	case <-r.Drain: // a nil channel never drains
		return true
	default:
		return false
	}
}

// shared reports whether err befalls every instance: the host's faults, and the
// caller's (a setting that the engine refuses, a template that does not render).
func shared(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Host || kind == fault.Usage
}

// stop closes the door for a fault that all instances share. It is the host's
// from here on: Usage promises that nothing was started.
func (r *run) stop(err error) {
	if fault.KindOf(err) == fault.Usage {
		err = fault.New(fault.Host, "", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sum.Host == nil {
		r.sum.Host = err
	}
}

func (r *run) count(o results.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case o.Final():
		r.sum.Final++
	case o == results.Pending:
		r.sum.Pending++
	default:
		r.sum.Failed++
	}
}

// instance attempts one instance until it has a result, its failure is not
// worth another try, or the run is told to stop.
func (r *run) instance(ctx context.Context, in dataset.Instance) {
	waiting := r.started
	used := map[string]int{} // retries, by the name that they count under
	outages := 0
	var kept keeper
	defer func() {
		if err := kept.close(); err != nil {
			r.Log.Error("closing what an instance kept", "instance", in.ID, "err", err)
		}
	}()
	for try := 1; ; try++ {
		r.Log.Info("instance started", "instance", in.ID, "try", try)
		r.OnEvent(Event{Type: EventStart, Instance: in.ID, Try: try})
		result, err := r.attempt(ctx, in, try, time.Since(waiting), &kept)
		waiting = time.Now()
		if errors.Is(err, ErrBudget) {
			r.mu.Lock()
			r.sum.Budget = true
			r.mu.Unlock()
		}
		out := outages < maxOutages && r.Outage(err)
		kind, most := r.Retries.key(&result.Record)
		again := (out || used[kind] < most) && !shared(err) && r.open(ctx)
		if out {
			outages++
		} else {
			used[kind]++
		}
		if lost := r.put(ctx, result); lost != nil {
			again = false
			result.Record.Outcome, result.Record.Error = results.Infrastructure, lost.Error()
			if fault.KindOf(lost) != fault.Instance { // one that cannot be saved says nothing of the others
				r.stop(lost)
			}
		} else if shared(err) {
			r.stop(err)
		}
		rec := &result.Record
		r.Log.Info("instance ended", "instance", in.ID, "try", try, "status", rec.Status, "outcome", rec.Outcome,
			"steps", rec.Steps, "cost", rec.Cost, "again", again, "err", rec.Error)
		if again {
			r.OnEvent(Event{Type: EventRetry, Instance: in.ID, Try: try, Record: rec})
			if !out && rec.Outcome == results.Infrastructure { // else nothing has to pass before another chance
				r.sleep(ctx, r.backoff(try-outages))
			}
			again = r.open(ctx)
		}
		if !again {
			r.count(rec.Outcome)
			r.OnEvent(Event{Type: EventEnd, Instance: in.ID, Try: try, Record: rec})
			return
		}
	}
}

// put stores a result even when the run is being cancelled: work that was
// paid for is not lost to an interrupt.
func (r *run) put(ctx context.Context, result *results.Result) error {
	err := r.store.Put(context.WithoutCancel(ctx), result)
	if err == nil {
		return nil
	}
	r.Log.Error("saving a result", "instance", result.Record.InstanceID, "err", err)
	if fault.KindOf(err) == fault.Unknown {
		err = fault.New(fault.Host, "saving the result of "+result.Record.InstanceID, err)
	}
	return err
}

// maxOutages is how many failures of an instance pass for an outage: one that
// meets more may well be their cause.
const maxOutages = 10

// sleep waits before another try, or until the run is told to stop.
func (r *run) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	case <-r.Drain:
	}
}
