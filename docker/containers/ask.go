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
	attachLimit = time.Minute // for an init to answer, which may have a small part of a processor

	aliveEvery = 5 * time.Second  // how often the init is pinged
	aliveLimit = 20 * time.Second // how long it may send nothing while a question is open
)

// calls are the open questions to a container's init and the current connection to it.
type calls struct {
	connecting *semaphore.Weighted // held while a connection is made
	mu         sync.Mutex
	link       *link.Link // nil: not connected
	heard      time.Time  // when the last frame arrived
	open       map[string]*question
	forget     []string // commands whose results the init need not keep
	forged     int      // connections that ended because of bytes that the init did not write
	closed     bool
	stop       chan struct{} // closed at the end
	alive      sync.WaitGroup
}

// question is one request to the init, with its answer.
type question struct {
	frame   wire.Frame
	longer  func(begin []byte) bool
	begin   int           // bytes that longer is called with
	limit   time.Duration // for the answer; 0: none
	out     []byte        // the output received so far
	emptied bool          // all processes of the container were ended before the frame was sent
	done    chan struct{}
	answer  wire.Frame
}

// errClosed ends a call to a container that has been removed.
var errClosed = errors.New("the container has been removed")

// maxForged is how many connections may end because of bytes that the init did not write.
// Only a process with CAP_SYS_PTRACE, which the Spec must request, can write them.
const maxForged = 8

// errOverdue ends a question whose answer is long overdue.
var errOverdue = errors.New("the container's init process did not stop a command at its time limit")

// ask sends the frame and waits for the answer. When the connection ends, ask uses a
// new one. The output before the answer is in q.out. Lost means that the container was
// started again since the frame was sent: then what ran in it is gone.
func (c *Container) ask(ctx context.Context, q *question) (lost bool, err error) {
	q.done = make(chan struct{})
	if q.frame.ID == "" {
		q.frame.ID = rand.Text()
	}
	p := &c.calls
	defer p.unregister(q)
	var overdue <-chan time.Time
	if q.limit > 0 {
		t := time.NewTimer(q.limit)
		defer t.Stop()
		overdue = t.C
	}
	restarts, sent := c.restarts.Load(), false
	for {
		l, err := c.connected(ctx)
		if err != nil {
			return sent && c.restarts.Load() != restarts, err
		}
		if c.restarts.Load() != restarts {
			if sent {
				return true, nil
			}
			restarts, q.emptied = c.restarts.Load(), true
		}
		if !p.register(q) {
			return false, nil // it was answered before the connection ended
		}
		sent = true
		l.Write(q.frame)
		select {
		case <-q.done:
			return false, nil
		case <-l.Done:
			p.unregister(q)
			c.drop(l)
		case <-overdue:
			return false, errOverdue
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// register adds q to the open questions; false when it is answered already.
func (p *calls) register(q *question) bool {
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

func (p *calls) unregister(q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, q.frame.ID)
}

// connected returns the connection to the init. If there is none, it connects once
// the engine answers and the container runs or could be started again.
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
		return nil, fault.New(fault.Transient, "calling the init process of container "+c.short(), errClosed)
	case l != nil && !l.Ended():
		return l, nil
	case l != nil:
		c.drop(l)
	}
	if forged >= maxForged {
		return nil, c.asDestroyed(fault.New(fault.Instance, "calling the init process of container "+c.short(),
			errors.New("a process in it writes to the connection of its init process")))
	}
	return c.reconnect(ctx)
}

// current returns the current connection; nil: none.
func (p *calls) current() *link.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link
}

// maxConnects is how often batch tries to connect while the engine says that the
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
		case (engine.IsLost(f) || engine.Unanswered(f)) && !errors.Is(f, errDiedWithEngine): // nobody knows yet
			last = f
			continue
		case f != nil && c.endedItself(ctx):
			return c.startAgain(ctx)
		case f != nil:
			return nil, c.killed(ctx, doing, f)
		}
		l, err := link.Attach(ctx, c.engine, c.id, c.key)
		if err == nil {
			if err = c.begin(ctx, l, nil, attachLimit); err == nil {
				return l, nil
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		last = err
		c.engine.NoteError(err)
		if engine.Unanswered(err) { // it runs and does not answer
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

// begin greets the init over l and makes l the current connection; on a failure it closes l.
func (c *Container) begin(ctx context.Context, l *link.Link, key []byte, limit time.Duration) error {
	p := &c.calls
	p.mu.Lock()
	p.heard = time.Now()
	p.mu.Unlock()
	hello := wire.Hello{Lease: uint64(c.unattended), Again: c.restarts.Load() > 0}
	if err := l.Greet(ctx, key, hello, limit, func(f wire.Frame) { c.take(l, f) }); err != nil {
		l.Close()
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link = l
	return nil
}

// drop ends a connection and records why it ended.
func (c *Container) drop(l *link.Link) {
	l.Close() // after this, l.Err is valid
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

// take gives a frame from the init to the question that it answers.
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
		q.out = nil // the output began on an earlier connection: the init sends it again
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

// whole reports whether all of the output that the init kept has arrived.
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

// keepAlive pings the init regularly, and ends a connection on which nothing arrives
// while a question is open. It runs until close.
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
		silent := l != nil && len(p.open) > 0 && time.Since(p.heard) > aliveLimit
		p.mu.Unlock()
		switch {
		case l == nil:
		case silent:
			l.End()
		default:
			l.Write(wire.Frame{Kind: wire.KindRenew})
		}
	}
}

// begin prepares for questions to the container.
func (p *calls) begin(keepAlive func()) {
	p.open, p.stop, p.connecting = map[string]*question{}, make(chan struct{}), semaphore.NewWeighted(1)
	p.alive.Go(keepAlive)
}

// close ends the connection and waits for the goroutines that use it.
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

// lost returns the fault of an init that does not answer although its container runs.
func (c *Container) lost(cause error) error {
	return c.engine.Blame(fmt.Errorf("%w: %w", engine.ErrOutage, cause), fault.Transient, "running a command in container "+c.short())
}
