package box

import (
	"context"
	"crypto/rand"
	"errors"
	"syscall"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
)

const (
	aliveEvery = 5 * time.Second  // how often the init is pinged
	aliveLimit = 20 * time.Second // how long it may send nothing while a question is open
)

// question is one request to the init, with its answer.
type question struct {
	frame   wire.Frame
	longer  func(begin []byte) bool
	begin   int           // bytes that longer is called with
	limit   time.Duration // of the command that it starts; 0: none
	out     []byte        // the output received so far
	emptied bool          // all processes of the container were ended before the frame was sent
	done    chan struct{}
	result  *wire.Result // the answer; nil after done: it was a Done
	refused error        // the Done's, an [Error]
}

// errClosed ends a call to a container that has been removed.
var errClosed = errors.New("the container has been removed")

// maxForged is how many connections may end because of bytes that the init did not write.
// Only a process with CAP_SYS_PTRACE, which the Spec must request, can write them.
const maxForged = 8

// errOverdue ends a question whose answer is long overdue, see [overdueAfter].
var errOverdue = errors.New("the container's init process did not stop a command at its time limit")

// ask sends the frame and waits for the answer. When the connection ends, ask uses a
// new one. The output before the answer is in q.out. Lost means that the container was
// started again since the frame was sent: then what ran in it is gone.
func (b *Box) ask(ctx context.Context, q *question) (lost bool, err error) {
	q.done = make(chan struct{})
	if q.frame.ID == "" {
		q.frame.ID = rand.Text()
	}
	defer b.unregister(q)
	restarts, sent := b.restarts.Load(), false
	var began time.Time
	for {
		l, err := b.connected(ctx)
		if err != nil {
			return sent && b.restarts.Load() != restarts, err
		}
		if b.restarts.Load() != restarts {
			if sent {
				return true, nil
			}
			restarts, q.emptied = b.restarts.Load(), true
		}
		if !b.register(q) {
			return false, nil // it was answered before the connection ended
		}
		if !sent {
			began, sent = time.Now(), true
		}
		l.write(q.frame)
		if err := q.wait(ctx, l, began); err != nil || isClosed(q.done) {
			return false, err
		}
		b.unregister(q)
		b.drop(l)
	}
}

// wait waits for the answer, which the frame asked for over l, or until l has ended.
func (q *question) wait(ctx context.Context, l *link, began time.Time) error {
	var overdue <-chan time.Time
	if q.limit > 0 {
		t := time.NewTimer(max(0, time.Until(began.Add(q.limit))) + overdueAfter)
		defer t.Stop()
		overdue = t.C
	}
	select {
	case <-q.done:
	case <-l.done:
	case <-overdue:
		return errOverdue
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// register adds q to the open questions; false when it is answered already.
func (b *Box) register(q *question) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if isClosed(q.done) {
		return false
	}
	q.out = nil
	b.open[q.frame.ID] = q
	return true
}

func (b *Box) unregister(q *question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, q.frame.ID)
}

// do sends a frame that is answered by output and a Done. The Done's error is an [Error].
func (b *Box) do(ctx context.Context, f wire.Frame) ([]byte, error) {
	q := &question{frame: f}
	if _, err := b.ask(ctx, q); err != nil {
		return nil, err
	}
	return q.out, q.refused
}

// connected returns the connection to the init. If there is none, it connects once
// the engine answers and the container runs or could be started again.
func (b *Box) connected(ctx context.Context) (*link, error) {
	if err := b.connecting.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer b.connecting.Release(1)
	b.mu.Lock()
	l, closed, forged := b.link, b.closed, b.forged
	b.mu.Unlock()
	op := "calling the init process of container " + b.carrier.Name()
	switch {
	case closed:
		return nil, fault.New(fault.Transient, op, errClosed)
	case l != nil && !isClosed(l.done):
		return l, nil
	case l != nil:
		b.drop(l)
	}
	if forged >= maxForged {
		return nil, b.carrier.Destroyed(fault.New(fault.Instance, op, errors.New("a process in it writes to the connection of its init process")))
	}
	if err := b.carrier.Connect(ctx); err != nil {
		return nil, err
	}
	if l = b.current(); l == nil {
		return nil, fault.New(fault.Transient, op, errClosed)
	}
	return l, nil
}

// current returns the current connection; nil: none.
func (b *Box) current() *link {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.link
}

// restart ends all processes of the container, even if the init cannot kill them,
// and starts it again with its files.
func (b *Box) restart(ctx context.Context, doing string) error {
	if err := b.connecting.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return err
	}
	defer b.connecting.Release(1)
	l := b.current()
	if err := b.carrier.Stop(ctx, doing); err != nil {
		return err
	}
	if l != nil {
		b.drop(l)
	}
	return b.carrier.Start(ctx)
}

// drop ends a connection and records why it ended.
func (b *Box) drop(l *link) {
	l.close() // after this, l.err is valid
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.link == l {
		b.link = nil
		if errors.Is(l.err, wire.ErrForged) {
			b.forged++
		}
	}
}

// take gives a frame from the init to the question that it answers.
func (b *Box) take(l *link, f wire.Frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard = time.Now()
	q, s := b.open[f.ID], b.flows[f.ID]
	if s != nil {
		s.take(f)
	}
	switch {
	case f.Kind == wire.KindOpen:
		b.admit(l, f.ID)
	case f.Kind == wire.KindLost:
		b.forged++
		_ = l.pipe.Close()
	case q == nil || s != nil && f.Kind == wire.KindOutput: // the answer came twice, or its caller has gone
	case f.Kind == wire.KindDone && q.frame.Kind == wire.KindRun: // answers an earlier kill of the same command
	case f.Kind == wire.KindOutput:
		q.out = append(q.out, f.Data...)
	case f.Kind == wire.KindFull && len(q.out) == q.begin:
		begin := q.out
		l.wait.Go(func() { l.write(wire.Frame{Kind: wire.KindMore, ID: f.ID, Data: wire.Encode(q.more(begin))}) })
		fallthrough
	case f.Kind != wire.KindDone && !q.whole(f):
		q.out = nil // the output began on an earlier connection: the init sends it again
	default:
		var m wire.Done
		if f.Kind == wire.KindDone && wire.Decode(f.Data, &m) == nil && m.Message != "" {
			q.refused = &Error{syscall.Errno(m.Errno), m.Message}
		}
		delete(b.open, f.ID)
		close(q.done)
	}
}

// whole decodes a result and reports whether all of the output that the init kept has arrived.
func (q *question) whole(f wire.Frame) bool {
	var m wire.Result
	if f.Kind != wire.KindResult || wire.Decode(f.Data, &m) != nil || uint64(len(q.out)) != m.Kept {
		return false
	}
	q.result = &m
	return true
}

func (q *question) more(begin []byte) (m wire.More) {
	if q.longer != nil && q.longer(begin) {
		m.Limit = MaxOutput
	}
	return m
}

// keepAlive pings the init regularly, and ends a connection on which nothing arrives
// while a question is open. It runs until close.
func (b *Box) keepAlive() {
	every := aliveEvery
	if b.unattended > 0 {
		every = min(every, b.unattended/4)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
		}
		b.mu.Lock()
		l := b.link
		silent := l != nil && len(b.open) > 0 && time.Since(b.heard) > aliveLimit
		b.mu.Unlock()
		switch {
		case l == nil:
		case silent:
			_ = l.pipe.Close()
		default:
			l.write(wire.Frame{Kind: wire.KindRenew})
		}
	}
}
