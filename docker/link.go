package docker

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

	"batch.example/batch/internal/boxinit/wire"
)

const (
	attachLimit  = time.Minute      // for a new init to answer
	welcomeLimit = 20 * time.Second // for one that runs already
	aliveEvery   = 5 * time.Second  // how often the init is asked for a sign of life
	aliveLimit   = 20 * time.Second // and how long it may take for one while something is asked of it
)

// link is one connection to the init of a container: the engine's attach stream.
type link struct {
	conn types.HijackedResponse
	end  context.CancelFunc // ends reads and writes on conn
	out  *wire.Writer
	in   *wire.Reader
	diag *beginning

	welcome chan wire.Welcome
	done    chan struct{} // closed when the connection has ended
	err     error         // why; valid after done
	number  uint64
	again   bool      // the container was started again
	heard   time.Time // guarded by the container's lock
	wait    sync.WaitGroup
}

// attach connects to the container's streams. It may be called before the container
// is started. Nothing is said on the link yet.
func (c *Container) attach(ctx context.Context) (*link, error) {
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	// The transport that limits the other calls does not see this connection.
	limit := c.engine.limitOf(http.MethodPost, "/containers/id/attach")
	slow := time.AfterFunc(limit, func() { end(&noAnswer{"attach", limit}) })
	conn, err := c.engine.api.ContainerAttach(bound(inner), c.id, container.AttachOptions{
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
	l := &link{
		conn: conn, end: func() { end(nil) }, diag: &beginning{},
		welcome: make(chan wire.Welcome, 1), done: make(chan struct{}),
	}
	l.out = wire.NewWriter(conn.Conn, c.key, wire.Runner)
	l.in = wire.NewReader(&demux{r: bufio.NewReaderSize(conn.Reader, 64<<10), diag: l.diag}, c.key, wire.Init)
	return l, nil
}

// greet says hello, with the container's key before where the init is new, and
// waits for the answer. From then on frames are handed to take.
func (l *link) greet(ctx context.Context, key []byte, hello wire.Hello, limit time.Duration, take func(wire.Frame)) error {
	l.number = uint64(time.Now().UnixNano())
	hello.Version, hello.Connection = wire.Version, l.number
	l.wait.Go(func() { // the engine takes it when the container runs
		if _, err := l.conn.Conn.Write(key); err == nil {
			_ = l.out.Begin(hello.Connection, wire.Frame{Kind: wire.KindHello, Data: wire.Encode(hello)})
		}
	})
	l.wait.Go(func() {
		defer close(l.done)
		l.err = l.listen(hello.Connection, take)
	})
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case m := <-l.welcome:
		if m.Version != wire.Version {
			return fmt.Errorf("its init speaks version %d, and %d was expected", m.Version, wire.Version)
		}
		l.again = m.Again
		return nil
	case <-l.done:
		return l.broken()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return &noAnswer{"attach", limit}
	}
}

// errEnded is the end of a link that nothing else explains.
var errEnded = errors.New("the connection to the container's init ended")

// errTaken is the end of a link beside which another one was begun.
var errTaken = errors.New("somebody else has connected to the container's init")

// broken says why the link has ended.
func (l *link) broken() error {
	err := l.err
	if err == nil || errors.Is(err, io.EOF) {
		err = errEnded
	}
	if said := l.diag.String(); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

func (l *link) listen(connection uint64, take func(wire.Frame)) error {
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

// write sends a frame. It does not wait for an engine that does not take it: then
// the link ends.
func (l *link) write(f wire.Frame) {
	_ = l.conn.Conn.SetWriteDeadline(time.Now().Add(aliveLimit))
	if l.out.Write(l.number, f) != nil {
		l.end()
	}
}

// ended reports whether the connection has ended.
func (l *link) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// close ends the connection and waits for what reads it.
func (l *link) close() {
	l.end()
	l.conn.Close()
	l.wait.Wait()
}

// demux is the stdout in the engine's stream of a container, and puts its stderr aside.
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

// beginning keeps the first bytes of what an init says when it fails.
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
