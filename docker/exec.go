package docker

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"batch.example/batch/fault"
)

const (
	startLimit = time.Minute            // for the engine to start a command
	codeLimit  = 3 * time.Second        // for it to tell an exit code
	drainLimit = 500 * time.Millisecond // for the last output of a killed command to arrive
)

// execution is what open starts.
type execution struct {
	argv, env []string
	stdin     bool // its stdin is the connection; else there is none
	out, diag io.Writer
}

// stream is one exec with its connection. Close must be called.
type stream struct {
	id   string
	conn types.HijackedResponse
	end  context.CancelFunc // ends reads and writes on conn
	done chan struct{}      // closed when the output has ended
	err  error              // why it ended; valid after done
	wait sync.WaitGroup
}

// open starts x and copies what it prints to x.out and x.diag, its stdout and
// stderr. Cancelling ctx ends the start, not what was started: it goes on also
// when the stream is closed.
func (c *Container) open(ctx context.Context, x execution) (*stream, error) {
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	// The transport that limits the other calls does not see this connection.
	limit := c.engine.limitOf(http.MethodPost, "/exec/id/start")
	slow := time.AfterFunc(limit, func() { end(&noAnswer{"attach", limit}) })
	s, err := c.attach(inner, x)
	slow.Stop()
	release()
	if inner.Err() != nil {
		if err == nil { // it ended in between, and the stream with it
			s.conn.Close()
		}
		err = context.Cause(inner)
	}
	if err != nil {
		end(nil)
		return nil, err
	}
	s.end = func() { end(nil) }
	s.wait.Go(func() {
		defer close(s.done)
		_, s.err = stdcopy.StdCopy(x.out, x.diag, s.conn.Reader)
	})
	return s, nil
}

func (c *Container) attach(ctx context.Context, x execution) (*stream, error) {
	api := c.engine.api
	made, err := api.ContainerExecCreate(ctx, c.id, container.ExecOptions{
		Cmd: x.argv, Env: x.env, WorkingDir: "/",
		AttachStdin: x.stdin, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return nil, err
	}
	conn, err := api.ContainerExecAttach(bound(ctx), made.ID, container.ExecAttachOptions{})
	if err != nil {
		return nil, err
	}
	return &stream{id: made.ID, conn: conn, done: make(chan struct{})}, nil
}

// send writes to the stdin of what runs, in the background: it may be slow to
// read, and its end is seen in the output.
func (s *stream) send(data []byte) {
	s.wait.Go(func() { _, _ = s.conn.Conn.Write(data) })
}

// ended reports whether the output has ended.
func (s *stream) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// drain gives the last output of a killed command a moment to arrive.
func (s *stream) drain() {
	t := time.NewTimer(drainLimit)
	defer t.Stop()
	select {
	case <-s.done:
	case <-t.C:
	}
}

// close ends the connection and waits for both directions.
func (s *stream) close() {
	s.end()
	s.conn.Close()
	s.wait.Wait()
}

// startFault says why a command could not be started in a container that is well.
func (c *Container) startFault(err error) error {
	op := "running a command in container " + c.short()
	if errdefs.IsInvalidArgument(err) {
		return fault.New(fault.Instance, op, err)
	}
	return c.engine.blame(err, fault.Transient, op)
}

// code asks the engine for the exit code of the exec. It knows it a little
// after the output has ended.
func (c *Container) code(ctx context.Context, exec string) (int, bool) {
	ctx, cancel := context.WithTimeout(ctx, codeLimit)
	defer cancel()
	for pause := time.Millisecond; ; pause *= 2 {
		in, err := c.engine.api.ContainerExecInspect(ctx, exec)
		if err != nil {
			return 0, false
		}
		if !in.Running {
			return in.ExitCode, true
		}
		select {
		case <-ctx.Done():
			return 0, false
		case <-time.After(pause):
		}
	}
}

// output runs a helper of our own to its end and returns what it printed. Its
// stderr is apart, since a bash in good order may warn there at its start, as
// when the image's locale is not installed.
func (c *Container) output(ctx context.Context, argv ...string) (stdout, stderr string, err error) {
	var out, diag bytes.Buffer
	s, err := c.open(ctx, execution{argv: argv, out: &out, diag: &diag})
	if err != nil {
		return "", "", err
	}
	select {
	case <-s.done:
		s.close()
		return out.String(), diag.String(), s.err
	case <-ctx.Done():
		s.close()
		return "", "", ctx.Err()
	}
}
