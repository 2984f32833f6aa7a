package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
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

// stream is one exec with its connection. Close must be called.
type stream struct {
	id   string
	conn types.HijackedResponse
	end  context.CancelFunc // ends reads and writes on conn
	done chan struct{}      // closed when the output has ended
	err  error              // why it ended; valid after done
	wait sync.WaitGroup
}

// open starts argv and copies what it prints to out and diag, its stdout and
// stderr. Either may end the copy with errEnded. The command goes on when the
// stream is closed.
func (c *Container) open(
	ctx context.Context, argv, env []string, stdin string, out, diag io.Writer,
) (*stream, error) {
	ctx, end := context.WithCancel(ctx)
	slow := time.AfterFunc(startLimit, end)
	defer slow.Stop()
	api := c.engine.api
	made, err := api.ContainerExecCreate(ctx, c.id, container.ExecOptions{
		Cmd: argv, Env: env, WorkingDir: "/",
		AttachStdin: stdin != "", AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		end()
		return nil, err
	}
	conn, err := api.ContainerExecAttach(bound(ctx), made.ID, container.ExecAttachOptions{})
	if err != nil {
		end()
		return nil, err
	}
	s := &stream{id: made.ID, conn: conn, end: end, done: make(chan struct{})}
	s.wait.Go(func() {
		defer close(s.done)
		_, s.err = stdcopy.StdCopy(out, diag, conn.Reader)
	})
	if stdin != "" {
		s.wait.Go(func() {
			_, _ = io.Copy(conn.Conn, strings.NewReader(stdin)) // a command that ends early need not read it
			_ = conn.CloseWrite()
		})
	}
	return s, nil
}

// close ends the connection and waits for both directions.
func (s *stream) close() {
	s.end()
	s.conn.Close()
	s.wait.Wait()
}

// startFault says why a command could not be started.
func (c *Container) startFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	const doing = "running a command in"
	if f := c.gone(ctx, doing); f != nil {
		return f
	}
	op := doing + " container " + c.short()
	if errors.Is(err, context.Canceled) {
		err = errors.New("the engine did not start it in time")
		return fault.New(fault.Transient, op, err)
	}
	if errdefs.IsInvalidArgument(err) {
		return fault.New(fault.Instance, op, err)
	}
	return blame(err, fault.Transient, op)
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
	s, err := c.open(ctx, argv, nil, "", &out, &diag)
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
