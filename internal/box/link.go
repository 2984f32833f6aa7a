package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"batch.example/batch/internal/boxinit/wire"
)

// writeLimit is how long the engine may take for a frame.
const writeLimit = 20 * time.Second

// link is one connection to the init of a container.
type link struct {
	pipe   Pipe
	out    *wire.Writer
	number uint64
	again  bool // the container was started again
	wait   sync.WaitGroup
	done   chan struct{} // closed when the connection has ended
	err    error         // why; valid after done
}

// ErrEnded is the error of a connection that ended without another reason.
var ErrEnded = errors.New("the connection to the container's init process ended")

// errTaken is the error of a link that another link replaced.
var errTaken = errors.New("another process connected to the container's init process")

// State says whether a helper knows the commands so far.
type State int

// The states of a helper.
const (
	Running   State = iota // it knows the key and earlier commands
	Started                // it knows neither: the container is started for the first time
	Restarted              // it knows neither: what ran in the container before is gone
)

// Begin makes p, which may reach the helper only later, the connection to it. If the helper
// does not answer before ctx ends, Begin closes p and returns the cause of ctx, or
// [ErrEnded] if p has ended.
func (b *Box) Begin(ctx context.Context, p Pipe, s State) error {
	if s == Restarted {
		b.restarts.Add(1)
	}
	l := &link{pipe: p, out: wire.NewWriter(p, b.key, wire.Runner), number: uint64(time.Now().UnixNano()), done: make(chan struct{})}
	hello := wire.Hello{Version: wire.Version, Connection: l.number, Lease: uint64(b.unattended), Again: b.restarts.Load() > 0}
	l.wait.Go(func() { // the engine takes it when the container runs
		var err error
		if s != Running {
			_, err = p.Write(b.key[:])
		}
		if err == nil {
			_ = l.out.Begin(l.number, wire.Frame{Kind: wire.KindHello, Data: wire.Encode(hello)})
		}
	})
	welcome := make(chan wire.Welcome, 1)
	l.wait.Go(func() {
		defer close(l.done)
		l.err = b.listen(l, welcome)
	})
	var err error
	select {
	case m := <-welcome:
		if l.again = m.Again; m.Version == wire.Version {
			b.use(l)
			return nil
		}
		err = fmt.Errorf("another version of batch made it: its init process has protocol version %d, expected %d", m.Version, wire.Version)
	case <-l.done:
		err = l.broken()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	l.close()
	return err
}

// use makes l the current connection, unless the Box was closed meanwhile.
func (b *Box) use(l *link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		_ = l.pipe.Close()
		return
	}
	b.link, b.heard = l, time.Now()
}

// listen takes the frames that arrive over l.
func (b *Box) listen(l *link, welcome chan<- wire.Welcome) error {
	in := wire.NewReader(l.pipe, b.key, wire.Init)
	for {
		f, began, err := in.Next()
		var m wire.Welcome
		switch {
		case err != nil:
			return err
		case !began:
			b.take(l, f)
			continue
		case f.Kind != wire.KindWelcome || wire.Decode(f.Data, &m) != nil:
			return wire.ErrForged
		case m.Connection != l.number:
			return errTaken
		}
		in.Begin(l.number)
		welcome <- m
	}
}

// broken returns why the link has ended.
func (l *link) broken() error {
	err := l.err
	if err == nil || errors.Is(err, io.EOF) {
		err = ErrEnded
	}
	if said := l.pipe.Said(); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// write sends a frame. If the engine does not accept it within writeLimit, the link ends.
func (l *link) write(f wire.Frame) {
	_ = l.pipe.SetWriteDeadline(time.Now().Add(writeLimit))
	if l.out.Write(l.number, f) != nil {
		_ = l.pipe.Close()
	}
}

// close ends the connection and waits for its goroutines.
func (l *link) close() {
	_ = l.pipe.Close()
	l.wait.Wait()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
