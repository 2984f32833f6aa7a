package box

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
)

// Listener takes the connections of processes in the container to a port of the container's
// loopback. The helper lets at most 64 be open at once, the kernel lets others wait.
//
// The port belongs to the helper: it stays open when the Box is closed, and when the process of batch
// ends. What connects meanwhile waits, and is reset when another process of batch has taken over. A
// connection belongs to the connection to the helper: both end together, and so a client connects again when
// another process of batch has taken over. A client that closes its side for writing closes the connection.
type Listener struct {
	address *net.TCPAddr
	arrived chan *visit
	stop    chan struct{} // closed by Close
	visits  sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// visit is one connection. Both ends of the pipe have deadlines, as an HTTP server needs them.
type visit struct {
	*flow
	ours, theirs net.Conn
}

// waiting is how many connections wait for Accept. The helper admits no more.
const waiting = 64

// Listen opens the port, or returns the open one: there is one for each helper. Only the Listener
// of the last call gets connections. The caller must Close it.
func (b *Box) Listen(ctx context.Context) (*Listener, error) {
	op := "listening in container " + b.carrier.Name()
	if _, err := b.carrier.Admit(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	before, l := b.visited, b.early
	if l == nil {
		l = newListener()
	}
	b.visited, b.early = l, nil
	b.mu.Unlock()
	if before != nil && before != l {
		_ = before.Close()
	}
	number, err := b.do(ctx, wire.Frame{Kind: wire.KindListen})
	if err != nil {
		return nil, fault.New(fault.Transient, op, err)
	}
	port, err := strconv.Atoi(string(number))
	if err != nil {
		return nil, fault.New(fault.Transient, op, err)
	}
	l.address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	return l, nil
}

func newListener() *Listener {
	return &Listener{arrived: make(chan *visit, waiting), stop: make(chan struct{})}
}

// Accept waits for the next connection. It returns [net.ErrClosed] after Close.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case v := <-l.arrived:
		return v.theirs, nil
	case <-l.stop:
		return nil, net.ErrClosed
	}
}

// Addr returns the address of the port in the container.
func (l *Listener) Addr() net.Addr { return l.address }

// Close closes all connections and waits for their end. It may be called twice; its error is nil.
// The port stays open, and what connects to it waits until it is closed with its container.
func (l *Listener) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	l.mu.Unlock()
	l.visits.Wait()
	return nil
}

// admit begins the connection that has arrived over a link. It waits for the Listen of this process, if a
// former one has opened the port. The caller holds the lock.
func (b *Box) admit(over *link, id string) {
	if b.visited == nil {
		b.early = newListener()
		b.visited = b.early
	}
	if !b.visited.begin(b, over, id) {
		over.wait.Go(func() { over.write(wire.Frame{Kind: wire.KindKill, ID: id}) })
	}
}

// begin reports whether the connection waits for Accept.
func (l *Listener) begin(b *Box, over *link, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.arrived) == cap(l.arrived) {
		return false
	}
	ours, theirs := net.Pipe()
	v := &visit{flow: b.newFlow(over, id), ours: ours, theirs: theirs}
	l.visits.Go(func() { v.carry(l.stop) })
	l.arrived <- v
	return true
}

// carry passes on both directions until one side closes the connection.
func (v *visit) carry(stop <-chan struct{}) {
	defer v.leave()
	var all sync.WaitGroup
	all.Go(v.in)
	all.Go(v.out)
	all.Go(func() {
		select {
		case <-stop:
			v.kill()
		case <-v.done:
		}
	})
	all.Wait()
}

// in passes on what the container sends, until nothing arrives any more.
func (v *visit) in() {
	defer close(v.done)
	defer v.ours.Close()
	for {
		f, ok := v.next()
		if !ok || f.Kind == wire.KindResult {
			return
		}
		_, _ = v.ours.Write(f.Data) // dropped when batch has closed its side
		v.taken()
	}
}

// out passes on what batch sends, and its end.
func (v *visit) out() {
	_, _ = io.CopyBuffer(struct{ io.Writer }{v.flow}, struct{ io.Reader }{v.ours}, make([]byte, wire.Part))
	v.send(wire.KindInput, nil)
}

// kill closes the connection, whatever is under way.
func (v *visit) kill() {
	_ = v.ours.Close()
	v.send(wire.KindKill, nil)
	select {
	case <-v.done:
	case <-time.After(endLimit):
		_ = v.link.pipe.Close() // no result arrives any more
	}
}
