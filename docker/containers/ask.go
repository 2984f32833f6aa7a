package containers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/docker/internal/link"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
)

const (
	attachLimit  = time.Minute      // for a new init to answer
	welcomeLimit = 20 * time.Second // for one that runs already

	aliveEvery = 5 * time.Second  // how often the init is asked for a sign of life
	aliveLimit = 20 * time.Second // and how long it may take for one while something is asked of it
)

// calls are what is asked of a container's init, over one connection after another.
type calls struct {
	connecting *semaphore.Weighted // held while a connection is made
	mu         sync.Mutex
	link       *link.Link // nil: there is none
	heard      time.Time  // when something came over it
	open       map[string]*question
	forget     []string // commands whose results the init need not keep
	forged     int      // connections that ended with bytes that are not the init's
	closed     bool
	stop       chan struct{} // closed at the end
	alive      sync.WaitGroup
}

// question is one thing that is asked of the init, until its answer is there.
type question struct {
	frame   wire.Frame
	longer  func(begin []byte) bool
	begin   int           // bytes that longer is asked with
	limit   time.Duration // for the answer; 0: none
	out     []byte        // what came of an answer so far
	emptied bool          // all processes of the container were ended before the frame was sent
	done    chan struct{}
	answer  wire.Frame
}

// errClosed ends a call to a container that has been removed.
var errClosed = errors.New("the container has been removed")

// maxForged is how many connections may end with bytes that are not the init's. What
// runs in a container can write there with CAP_SYS_PTRACE only, which must be asked for.
const maxForged = 8

// errOverdue is the end of a question whose answer should have come long ago.
var errOverdue = errors.New("the container's init does not end a command at its time limit")

// ask sends the frame and waits for the answer, over another connection where one
// ends. What came before the answer is in out. Lost says that the container was started
// again since the frame was sent: then what ran in it is gone.
func (c *Container) ask(ctx context.Context, q *question) (lost bool, err error) {
	q.done = make(chan struct{})
	if q.frame.ID == "" {
		q.frame.ID = rand.Text()
	}
	p := &c.calls
	defer p.withdraw(q)
	var overdue <-chan time.Time
	if q.limit > 0 {
		t := time.NewTimer(q.limit)
		defer t.Stop()
		overdue = t.C
	}
	renewed, sent := c.renewed.Load(), false
	for {
		l, err := c.connected(ctx)
		if err != nil {
			return sent && c.renewed.Load() != renewed, err
		}
		if c.renewed.Load() != renewed {
			if sent {
				return true, nil
			}
			renewed, q.emptied = c.renewed.Load(), true
		}
		if !p.pose(q) {
			return false, nil // it was answered before the connection ended
		}
		sent = true
		l.Write(q.frame)
		select {
		case <-q.done:
			return false, nil
		case <-l.Done:
			p.withdraw(q)
			c.drop(l)
		case <-overdue:
			return false, errOverdue
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// pose makes the question one that is open; false when it is answered.
func (p *calls) pose(q *question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-q.done:
		return false
	default:
	}
	q.out = nil
	p.open[q.frame.ID] = q
	return true
}

func (p *calls) withdraw(q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, q.frame.ID)
}

// connected returns the connection to the init. It makes one where there is none:
// when the engine is there and the container runs, or can be started again.
func (c *Container) connected(ctx context.Context) (*link.Link, error) {
	p := &c.calls
	if err := p.connecting.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer p.connecting.Release(1)
	p.mu.Lock()
	l, closed, forged := p.link, p.closed, p.forged
	p.mu.Unlock()
	switch {
	case closed:
		return nil, fault.New(fault.Transient, "asking the init of container "+c.short(), errClosed)
	case l != nil && !l.Ended():
		return l, nil
	case l != nil:
		c.drop(l)
	}
	if forged >= maxForged {
		return nil, c.ruin(fault.New(fault.Instance, "asking the init of container "+c.short(),
			errors.New("what runs in it writes into the connection to its init")))
	}
	return c.reconnect(ctx)
}

// current is the connection that there is; nil: none.
func (p *calls) current() *link.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link
}

// maxConnects is how often a connection is tried where the engine says that the
// container runs.
const maxConnects = 20

func (c *Container) reconnect(ctx context.Context) (*link.Link, error) {
	const doing = "running a command in"
	var last error
	for range maxConnects {
		if err := c.engine.Ready(ctx); err != nil {
			return nil, err
		}
		f := c.gone(ctx, doing)
		switch {
		case (engine.IsLost(f) || engine.Unanswered(f)) && !errors.Is(f, errOutlived): // nobody knows yet
			last = f
			continue
		case f != nil && c.endedItself(ctx):
			return c.renew(ctx)
		case f != nil:
			return nil, c.killed(ctx, doing, f)
		}
		l, err := link.Attach(ctx, c.engine, c.id, c.key)
		if err == nil {
			if err = c.begin(ctx, l, nil, welcomeLimit); err == nil {
				return l, nil
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		last = err
		c.engine.Suspect(err)
		if engine.Unanswered(err) { // it runs and says nothing
			break
		}
		if engine.Sleep(ctx, settle/maxConnects) != nil {
			return nil, context.Cause(ctx)
		}
	}
	if f := c.gone(ctx, doing); f != nil {
		return nil, f
	}
	return nil, c.lost(last)
}

// begin greets the init over l and makes l the connection, or closes it.
func (c *Container) begin(ctx context.Context, l *link.Link, key []byte, limit time.Duration) error {
	p := &c.calls
	p.mu.Lock()
	p.heard = time.Now()
	p.mu.Unlock()
	hello := wire.Hello{Lease: uint64(c.unattended), Again: c.renewed.Load() > 0}
	if err := l.Greet(ctx, key, hello, limit, func(f wire.Frame) { c.take(l, f) }); err != nil {
		l.Close()
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link = l
	return nil
}

// drop ends a connection and takes note of how it ended.
func (c *Container) drop(l *link.Link) {
	l.Close() // so that why it ended is known
	p := &c.calls
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == l {
		p.link = nil
		if errors.Is(l.Err, wire.ErrForged) {
			p.forged++
		}
	}
}

// take hands a frame of the init to the question that it is for.
func (c *Container) take(l *link.Link, f wire.Frame) {
	p := &c.calls
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = time.Now()
	q := p.open[f.ID]
	switch {
	case f.Kind == wire.KindLost:
		p.forged++
		l.End()
	case q == nil: // the answer came twice, or nobody waits for it any more
	case f.Kind == wire.KindOutput:
		q.out = append(q.out, f.Data...)
	case f.Kind == wire.KindFull && len(q.out) != q.begin || f.Kind == wire.KindResult && !q.whole(f.Data):
		q.out = nil // its beginning came before it was asked again: it comes once more
	case f.Kind == wire.KindFull:
		begin := q.out
		q.out = nil
		l.Go(func() { l.Write(wire.Frame{Kind: wire.KindMore, ID: f.ID, Data: wire.Encode(q.more(begin))}) })
	case f.Kind == wire.KindResult || f.Kind == wire.KindDone:
		delete(p.open, f.ID)
		q.answer = wire.Frame{Kind: f.Kind, ID: f.ID, Data: slices.Clone(f.Data)}
		close(q.done)
	}
}

// whole reports whether all that a result has kept of the output has come.
func (q *question) whole(result []byte) bool {
	var m wire.Result
	return wire.Decode(result, &m) == nil && uint64(len(q.out)) == m.Kept
}

func (q *question) more(begin []byte) (m wire.More) {
	if q.longer != nil && q.longer(begin) {
		m.Limit = MaxOutput
	}
	return m
}

// keepAlive tells the init that somebody is there, and ends a connection over which
// nothing is heard of it while something is asked. Its end is close.
func (c *Container) keepAlive() {
	p := &c.calls
	every := aliveEvery
	if c.unattended > 0 {
		every = min(every, c.unattended/4)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		l := p.link
		deaf := l != nil && len(p.open) > 0 && time.Since(p.heard) > aliveLimit
		p.mu.Unlock()
		switch {
		case l == nil:
		case deaf:
			l.End()
		default:
			l.Write(wire.Frame{Kind: wire.KindRenew})
		}
	}
}

// begin makes the container ready to be asked.
func (p *calls) begin(keepAlive func()) {
	p.open, p.stop, p.connecting = map[string]*question{}, make(chan struct{}), semaphore.NewWeighted(1)
	p.alive.Go(keepAlive)
}

// close ends the connection and waits for what uses it.
func (p *calls) close() {
	p.mu.Lock()
	l, was := p.link, p.closed
	p.link, p.closed = nil, true
	p.mu.Unlock()
	if was || p.stop == nil {
		return
	}
	close(p.stop)
	if l != nil {
		l.Close()
	}
	p.alive.Wait()
}

// lost is the fault of an init that does not answer in a container that runs.
func (c *Container) lost(cause error) error {
	return c.engine.Blame(fmt.Errorf("%w: %w", engine.ErrOutage, cause), fault.Transient, "running a command in container "+c.short())
}
