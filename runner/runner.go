package runner

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"batch.example/batch/fault"
)

// Config sets how a run goes. The zero value runs one job at a time, without
// budget, and tries again what fails for a transient reason.
type Config struct {
	Width   *Width          // nil means one
	Retries Retries         // nil means DefaultRetries
	Backoff time.Duration   // before the second attempt, doubled for each further one; 0 means 5 s
	Budget  *Budget         // nil means none
	Drain   <-chan struct{} // closed: admit nothing more, let the running ones end
	OnEvent func(Event)     // called from many goroutines at once; nil ignores
	Log     *slog.Logger    // nil discards

	// Gate slows admission while something that all jobs share is short: it says why
	// no further job should be admitted, for a person to read; empty means that one
	// may. It must be quick. It is asked by one goroutine at a time, before each
	// further job, and about once a second until it has nothing against it. While no
	// job runs, the next is admitted all the same: the shortage is not of the run's
	// making and may never end. Nil admits all.
	Gate func() string

	// Outage recognises the transient failure of something that all jobs
	// share, such as an engine that was restarted. It uses up no retry: the
	// job is tried again at once, up to ten times, and the Worker waits
	// until that makes sense. Nil recognises none.
	Outage func(error) bool
}

// Summary says how a run ended, in jobs.
type Summary struct {
	Final   int   // with a result
	Failed  int   // that ended by our fault
	Pending int   // not admitted, or told to stop
	Host    error // the Host fault that stopped admission, if one did
	Budget  bool  // some are pending because the budget is spent
}

// Run attempts every job, in order as there is room, and returns when all that
// were admitted have ended and are saved. Cancelling ctx stops the running
// attempts; they are saved too. The error is the host's, the source's or that of
// saving; what befalls single jobs is in what was saved.
func Run[J, R any](ctx context.Context, c Config, jobs Source[J], worker Worker[J, R]) (Summary, error) {
	p := newPool(ctx, c)
	defer p.close()
	var running sync.WaitGroup
	for p.roomy() {
		job, ok, err := jobs.Next(p.admission)
		if !ok || err != nil {
			p.sourceEnded(err)
			break
		}
		if !p.enter() { // closed while the source or the gate was waited for
			p.count(Pending)
			break
		}
		running.Go(func() {
			defer p.leave()
			r := run[J, R]{pool: p, worker: worker, job: job, name: worker.Name(job)}
			r.attempts(ctx)
		})
	}
	running.Wait()
	p.sum.Pending += jobs.Left()
	p.sum.Budget = p.sum.Budget && p.sum.Pending+p.sum.Failed > 0
	return p.sum, p.sum.Host
}

// pool is the state that the jobs of one Run share.
type pool struct {
	Config
	started   time.Time
	admission context.Context // ends when nothing more is admitted
	closeDoor context.CancelFunc
	watcher   sync.WaitGroup // of Drain

	left    chan struct{} // of capacity 1: a job has left
	mu      sync.Mutex
	sum     Summary
	running int
}

func newPool(ctx context.Context, c Config) *pool {
	if c.Width == nil {
		c.Width = new(Width)
	}
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
	p := &pool{Config: c, started: time.Now(), left: make(chan struct{}, 1)}
	p.admission, p.closeDoor = context.WithCancel(ctx)
	p.watcher.Go(func() {
		select {
		case <-p.Drain: // a nil channel never drains
			p.closeDoor()
		case <-p.admission.Done():
		}
	})
	return p
}

func (p *pool) close() {
	p.closeDoor()
	p.watcher.Wait()
}

// open reports whether another attempt may start.
func (p *pool) open() bool {
	select {
	case <-p.Drain:
		return false
	case <-p.admission.Done():
		return false
	default:
	}
	if !p.Budget.Open() {
		p.spent()
		return false
	}
	return true
}

// spent closes the door because the budget is.
func (p *pool) spent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum.Budget = true
	p.closeDoor()
}

// shared reports whether err befalls every job: the host's faults, and the
// caller's (a setting that the engine refuses, a template that does not render).
func shared(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Host || kind == fault.Usage
}

// stop closes the door for a fault that all jobs share. It is the host's
// from here on: Usage promises that nothing was started.
func (p *pool) stop(err error) {
	if fault.KindOf(err) == fault.Usage {
		err = fault.New(fault.Host, "", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sum.Host == nil {
		p.sum.Host = err
	}
	p.closeDoor()
}

// sourceEnded stops the run for a source that failed while it was not told to end.
func (p *pool) sourceEnded(err error) {
	if err == nil || p.admission.Err() != nil {
		return
	}
	if fault.KindOf(err) == fault.Unknown {
		err = fault.New(fault.Host, "taking the next job", err)
	}
	p.stop(err)
}

func (p *pool) count(s State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s {
	case Final:
		p.sum.Final++
	case Pending:
		p.sum.Pending++
	default:
		p.sum.Failed++
	}
}

// sleep waits before another attempt, or until nothing more is admitted.
func (p *pool) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.admission.Done():
	}
}
