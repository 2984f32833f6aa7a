package runner

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// Config says how jobs are run. The zero value runs one job at a time, without a budget,
// and retries transient faults.
type Config struct {
	Width   *Width            // may be shared with other pools; nil means one
	Retries Retries           // nil means DefaultRetries
	Backoff time.Duration     // before the second attempt, doubled for each further one; 0 means 5 s
	Budget  *Budget           // nil means none
	Pause   *Pause            // may be shared with other pools; nil: they are never held
	Halts   *Halts            // nil: no job is halted
	Drain   <-chan struct{}   // when closed, no more jobs are admitted and the running ones end
	OnEvent func(vocab.Event) // events of the jobs, whose names are the instances; called from many goroutines at once; nil ignores
	Log     *slog.Logger      // nil discards

	// OnStop is called with the fault that stops admission, once, while other jobs may still
	// run; nil ignores.
	OnStop func(error)

	// Gate delays further jobs while a resource that all jobs share is short, such as
	// memory. It returns why no further job should start, for a person to read; empty means
	// that one may start. It must be fast. It is called by one goroutine at a time, before
	// each further job, and about once a second while it returns a reason. While no job
	// runs, the next one starts anyway: the run did not cause the shortage, and the shortage
	// may never end. A nil Gate admits all jobs.
	Gate func() string

	// Outage recognizes the transient failure of something that all jobs share, such as an
	// engine that was restarted. After such a failure the job is retried at once, up to ten
	// times, without counting as a retry; the Worker waits until it makes sense. A nil
	// Outage recognizes none.
	Outage func(error) bool
}

// Summary says how a run ended, in jobs.
type Summary struct {
	Final   int   // with a result
	Failed  int   // failed for infrastructure reasons
	Pending int   // not admitted, or interrupted
	Host    error // the Host fault that stopped admission, if one did
	Budget  bool  // some are pending because the budget is spent
}

// Run attempts the jobs of a roster, in order, as the width allows. It returns when all admitted jobs
// have ended and are saved. Canceling ctx stops the running attempts; they are saved too. The error is
// a Host fault, or comes from saving; how each job ended is in its saved result.
func Run[J, R any](ctx context.Context, c Config, jobs *Roster[J], worker Worker[J, R]) (Summary, error) {
	p := newPool(ctx, c)
	defer p.close()
	p.watchers.Go(func() {
		<-p.admission.Done()
		jobs.Close()
	})
	var running sync.WaitGroup
	for p.awaitWidth() {
		job, ok := jobs.next(p.admission)
		if !ok {
			break
		}
		admitted := p.enter()
		jobs.begun()
		if !admitted { // admission stopped while Run waited for the job or the gate
			jobs.ended()
			p.count("", vocab.OutcomePending)
			break
		}
		running.Go(func() {
			defer jobs.ended()
			defer p.Width.leave()
			r := run[J, R]{pool: p, worker: worker, job: job, name: worker.Name(job)}
			r.unlessHalted(ctx)
		})
	}
	running.Wait()
	jobs.Close() // before those that are left are counted
	p.sum.Pending += jobs.Left()
	p.sum.Budget = p.sum.Budget && p.sum.Pending+p.sum.Failed > 0
	return p.sum, p.sum.Host
}

// pool is the state that the jobs of one Run share.
type pool struct {
	Config
	started time.Time
	parent  context.Context // of the whole run
	// admission ends when no more jobs are admitted. If parent ends, admission ends a moment
	// later.
	admission     context.Context
	stopAdmission context.CancelFunc
	watchers      sync.WaitGroup // of the goroutines that watch Drain and admission

	mu    sync.Mutex
	sum   Summary
	ended map[string]vocab.Outcome // of the jobs that have ended; nil: a job that ends again is another one
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
		c.OnEvent = func(vocab.Event) {}
	}
	if c.OnStop == nil {
		c.OnStop = func(error) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	p := &pool{Config: c, parent: ctx, started: time.Now()}
	if c.Halts != nil {
		p.ended = map[string]vocab.Outcome{}
	}
	p.admission, p.stopAdmission = context.WithCancel(ctx)
	p.watchers.Go(func() {
		select {
		case <-p.Drain: // a nil channel never drains
			p.stopAdmission()
		case <-p.admission.Done():
		}
	})
	return p
}

func (p *pool) close() {
	p.stopAdmission()
	p.watchers.Wait()
}

// open reports whether another attempt may start.
func (p *pool) open() bool {
	select {
	case <-p.Drain:
		return false
	case <-p.parent.Done(): // jobs may notice it before admission ends
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

// spent stops admission because the budget is spent.
func (p *pool) spent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum.Budget = true
	p.stopAdmission()
}

// shared reports whether every job would fail with err: a fault of the host, or of the
// caller's input (a setting that the engine refuses, a template that does not render).
func shared(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Host || kind == fault.Usage
}

// stop stops admission because of a fault that all jobs share. A Usage fault becomes a Host
// fault, because a Usage fault promises that nothing was started.
func (p *pool) stop(err error) {
	if fault.KindOf(err) == fault.Usage {
		err = fault.New(fault.Host, "", err)
	}
	p.mu.Lock()
	first := p.sum.Host == nil
	if first {
		p.sum.Host = err
	}
	p.stopAdmission()
	p.mu.Unlock()
	if first {
		p.OnStop(err)
	}
}

// count counts how a job ended. A job that ran again counts as it ended last.
func (p *pool) count(name string, o vocab.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, again := p.ended[name]; again && name != "" {
		*p.counter(was)--
	}
	*p.counter(o)++
	if p.ended != nil {
		p.ended[name] = o
	}
}

func (p *pool) counter(o vocab.Outcome) *int {
	switch {
	case o.Final():
		return &p.sum.Final
	case o == vocab.OutcomePending:
		return &p.sum.Pending
	default:
		return &p.sum.Failed
	}
}

// sleep waits for d, or until no more jobs are admitted or ctx ends.
func (p *pool) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-p.admission.Done():
	case <-ctx.Done():
	}
}
