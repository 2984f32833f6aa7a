// Package link is a connection to the init of a container, over the engine's attach
// stream. It carries frames; the caller interprets them.
package link

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/internal/boxinit/wire"
)

// writeLimit is how long the engine may take for a frame.
const writeLimit = 20 * time.Second

// Link is one connection to the init of a container.
type Link struct {
	conn types.HijackedResponse
	end  context.CancelFunc // ends reads and writes on conn
	out  *wire.Writer
	in   *wire.Reader
	diag *beginning

	welcome chan wire.Welcome
	number  uint64
	wait    sync.WaitGroup

	Again bool          // the container was started again; valid after Greet
	Done  chan struct{} // closed when the connection has ended
	Err   error         // why; valid after Done
}

// Attach connects to the streams of the container with that id and key. It may be
// called before the container is started. It sends nothing yet.
func Attach(ctx context.Context, e *engine.Conn, id string, key wire.Key) (*Link, error) {
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	// The transport that limits the other calls does not see this connection.
	limit := e.LimitOf(http.MethodPost, "/containers/id/attach")
	slow := time.AfterFunc(limit, func() { end(&engine.NoAnswer{Call: "attach", Limit: limit}) })
	conn, err := e.API.ContainerAttach(engine.Bound(inner), id, container.AttachOptions{
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
	l := &Link{
		conn: conn, end: func() { end(nil) }, diag: &beginning{},
		welcome: make(chan wire.Welcome, 1), Done: make(chan struct{}),
	}
	l.out = wire.NewWriter(conn.Conn, key, wire.Runner)
	l.in = wire.NewReader(&demux{r: conn.Reader, diag: l.diag}, key, wire.Init)
	return l, nil
}

// Greet sends the key, which is empty unless the init is new, and a hello, and
// waits for the answer. From then on, it passes frames to take.
func (l *Link) Greet(ctx context.Context, key []byte, hello wire.Hello, limit time.Duration, take func(wire.Frame)) error {
	l.number = uint64(time.Now().UnixNano())
	hello.Version, hello.Connection = wire.Version, l.number
	l.wait.Go(func() { // the engine takes it when the container runs
		if _, err := l.conn.Conn.Write(key); err == nil {
			_ = l.out.Begin(hello.Connection, wire.Frame{Kind: wire.KindHello, Data: wire.Encode(hello)})
		}
	})
	l.wait.Go(func() {
		defer close(l.Done)
		l.Err = l.listen(hello.Connection, take)
	})
	ctx, stop := context.WithTimeoutCause(ctx, limit, &engine.NoAnswer{Call: "attach", Limit: limit})
	defer stop()
	select {
	case m := <-l.welcome:
		if m.Version != wire.Version {
			return fmt.Errorf("its init process has protocol version %d, expected %d", m.Version, wire.Version)
		}
		l.Again = m.Again
		return nil
	case <-l.Done:
		return l.broken()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ErrEnded is the error of a link that ended without another reason.
var ErrEnded = errors.New("the connection to the container's init process ended")

// errTaken is the error of a link that another link replaced.
var errTaken = errors.New("another process connected to the container's init process")

// broken returns why the link has ended.
func (l *Link) broken() error {
	err := l.Err
	if err == nil || errors.Is(err, io.EOF) {
		err = ErrEnded
	}
	if said := l.diag.String(); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

func (l *Link) listen(connection uint64, take func(wire.Frame)) error {
	for {
		f, began, err := l.in.Next()
		switch {
		case err != nil:
			return err
		case !began:
			take(f)
			continue
		}
		var m wire.Welcome
		switch {
		case f.Kind != wire.KindWelcome || wire.Decode(f.Data, &m) != nil:
			return wire.ErrForged
		case m.Connection != connection:
			return errTaken
		}
		l.in.Begin(connection)
		l.welcome <- m
	}
}

// Write sends a frame. If the engine does not accept it within writeLimit, the link ends.
func (l *Link) Write(f wire.Frame) {
	_ = l.conn.Conn.SetWriteDeadline(time.Now().Add(writeLimit))
	if l.out.Write(l.number, f) != nil {
		l.end()
	}
}

// End ends the connection without waiting for its goroutines.
func (l *Link) End() { l.end() }

// Go runs f, for which Close waits.
func (l *Link) Go(f func()) { l.wait.Go(f) }

// Ended reports whether the connection has ended.
func (l *Link) Ended() bool {
	select {
	case <-l.Done:
		return true
	default:
		return false
	}
}

// Close ends the connection and waits for its goroutines.
func (l *Link) Close() {
	l.end()
	l.conn.Close()
	l.wait.Wait()
}

// demux reads the stdout in the engine's stream of a container and copies its stderr to diag.
type demux struct {
	r    *bufio.Reader
	left int // of the part of stdout that is being read
	diag io.Writer
}

// Read implements io.Reader.
func (d *demux) Read(p []byte) (int, error) {
	for d.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(d.r, head[:]); err != nil {
			return 0, err
		}
		size := int(binary.BigEndian.Uint32(head[4:]))
		if stdcopy.StdType(head[0]) == stdcopy.Stdout {
			d.left = size
			continue
		}
		if _, err := io.CopyN(d.diag, d.r, int64(size)); err != nil {
			return 0, err
		}
	}
	n, err := d.r.Read(p[:min(len(p), d.left)])
	d.left -= n
	return n, err
}

// beginning keeps the first bytes that an init writes to stderr when it fails.
type beginning struct {
	mu   sync.Mutex
	text []byte
}

const maxBeginning = 2 << 10

// Write implements io.Writer.
func (t *beginning) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), maxBeginning-len(t.text))]...)
	return len(p), nil
}

// String returns what was kept.
func (t *beginning) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
