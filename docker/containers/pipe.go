package containers

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"batch.example/batch/docker/internal/daemon"
)

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
