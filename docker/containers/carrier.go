package containers

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/retry"
	"batch.example/batch/vocab"
)

// What the methods of a Container take and return.
type (
	Command = box.Command
	Program = box.Program
	Stream  = box.Stream
)

// carrier implements [box.Carrier] for a container.
type carrier struct{ c *Container }

func (k carrier) Name() string                               { return k.c.short() }
func (k carrier) Dir() string                                { return k.c.workDir }
func (k carrier) DiskUse(ctx context.Context) *vocab.DiskUse { return k.c.diskUse(ctx) }
func (k carrier) Destroyed(f error) error                    { return k.c.asDestroyed(f) }

// Admit refuses commands above the disk limit. A result shows that the engine's losses before
// the command did not end the container.
func (k carrier) Admit() (answered func(), err error) {
	losses := k.c.engine.StableLosses()
	return func() {
		if losses >= 0 {
			k.c.knownLosses.Store(int64(losses))
		}
	}, k.c.admit()
}

// maxConnects is how often batch tries to connect while the engine says that the
// container runs.
const maxConnects = 20

func (k carrier) Connect(ctx context.Context) error {
	const doing = "running a command in"
	c := k.c
	var last error
	for range maxConnects {
		if err := c.engine.Ready(ctx); err != nil {
			return err
		}
		f := c.gone(ctx, doing)
		switch {
		case (daemon.IsLost(f) || daemon.Unanswered(f)) && !errors.Is(f, errDiedWithEngine): // not known yet
			last = f
			continue
		case f != nil && c.endedItself(ctx):
			return k.Start(ctx)
		case f != nil:
			return c.killed(ctx, doing, f)
		}
		p, err := c.attach(ctx)
		if err == nil {
			if err = c.greet(ctx, p, box.Running); err == nil {
				return nil
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		last = err
		c.engine.NoteError(err)
		if daemon.Unanswered(err) { // it runs and does not answer
			break
		}
		if retry.Sleep(ctx, settle/maxConnects) != nil {
			return context.Cause(ctx)
		}
	}
	if f := c.gone(ctx, doing); f != nil {
		return f
	}
	return c.engine.Blame(fmt.Errorf("%w: %w", daemon.ErrOutage, last), fault.Transient, doing+" container "+c.short())
}

// greetLimit is how long process 1 may take to answer: it may have a small part of a processor.
const greetLimit = time.Minute

// greet begins the connection to process 1 over p.
func (c *Container) greet(ctx context.Context, p *pipe, s box.State) error {
	ctx, stop := context.WithTimeoutCause(ctx, greetLimit, &daemon.NoAnswer{Call: "attach", Limit: greetLimit})
	defer stop()
	return c.Begin(ctx, p, s)
}

func (k carrier) Start(ctx context.Context) error {
	c := k.c
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), daemon.RemoveLimit)
	defer cancel()
	c.engine.Log.Warn("restarted a container that ran out of memory or whose processes could not be killed", "container", c.short())
	_, err := c.start(ctx, box.Restarted)
	switch op := "starting container " + c.short() + " again"; {
	case err == nil:
		return nil
	case c.endedItself(ctx):
		return c.asDestroyed(fault.New(fault.Instance, op, err))
	default:
		return c.engine.Blame(err, fault.Transient, op)
	}
}

func (k carrier) Stop(ctx context.Context, doing string) error {
	return k.c.engine.Blame(k.c.stop(ctx), fault.Transient, doing+" container "+k.c.short())
}

// pipe is the engine's stream of the stdin, stdout and stderr of a container's process 1. It
// implements [box.Pipe].
type pipe struct {
	net.Conn
	end  context.CancelFunc // ends reads and writes
	r    *bufio.Reader
	left int    // of the part of stdout that is being read
	said []byte // the beginning of stderr
}

// maxSaid is how much of stderr is kept.
const maxSaid = 2 << 10

// attach connects to the streams of the container, which need not have been started.
func (c *Container) attach(ctx context.Context) (*pipe, error) {
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	// The transport that limits the other calls does not see this connection.
	limit := c.engine.LimitOf(http.MethodPost, "/containers/id/attach")
	slow := time.AfterFunc(limit, func() { end(&daemon.NoAnswer{Call: "attach", Limit: limit}) })
	conn, err := c.engine.API.ContainerAttach(daemon.Bound(inner), c.id, container.AttachOptions{
		Stream: true, Stdin: true, Stdout: true, Stderr: true,
	})
	slow.Stop()
	release()
	if inner.Err() != nil {
		if err == nil { // it ended in between
			conn.Close()
		}
		err = context.Cause(inner)
	}
	if err != nil {
		end(nil)
		return nil, err
	}
	return &pipe{Conn: conn.Conn, end: func() { end(nil) }, r: conn.Reader}, nil
}

// Read reads the stdout of process 1 and keeps the beginning of its stderr.
func (p *pipe) Read(b []byte) (int, error) {
	for p.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(p.r, head[:]); err != nil {
			return 0, err
		}
		size := int(binary.BigEndian.Uint32(head[4:]))
		if stdcopy.StdType(head[0]) == stdcopy.Stdout {
			p.left = size
			continue
		}
		text := make([]byte, min(size, maxSaid-len(p.said)))
		n, err := io.ReadFull(p.r, text)
		p.said = append(p.said, text[:n]...)
		if err == nil {
			_, err = p.r.Discard(size - n)
		}
		if err != nil {
			return 0, err
		}
	}
	n, err := p.r.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}

// Said implements [box.Pipe].
func (p *pipe) Said() string { return string(p.said) }

// Close implements io.Closer.
func (p *pipe) Close() error {
	p.end()
	return p.Conn.Close()
}
