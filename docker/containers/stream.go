package containers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/box"
)

// Program is what [Container.Stream] starts.
type Program struct {
	// Name distinguishes the programs of a container. Stream first ends the processes of
	// an earlier program with the same name, even one that a killed process of batch
	// started.
	Name string

	Args   []string
	Dir    string    // empty: the container's
	Env    []string  // NAME=value, overrides the container's
	Stderr io.Writer // gets what it writes to stderr, from one goroutine; nil discards
}

// Stream is a program in a container, for a caller that talks to it over its stdin and
// stdout. Read reads its stdout and Write writes to its stdin; each of the two may be used
// by one goroutine at a time, and Close by any. Unread output stops the program once the
// buffers between it and the reader are full.
type Stream struct {
	container *Container
	name      string
	id        string // of the exec
	conn      types.HijackedResponse
	end       context.CancelFunc // ends reads and writes on conn
	stdout    *io.PipeReader
	done      chan struct{} // closed when stdout has ended
	exit      int           // valid after done; -1: not known
	close     func() error
}

const (
	// politeness is how long a program may take to end after its stdin has ended.
	politeness = 2 * time.Second
	// endLimit is how long ending the processes of a program may take, and the engine to
	// note the end.
	endLimit = 20 * time.Second
)

// mark is the environment variable by which the processes of a program are recognized.
const mark = "BATCH_PROGRAM"

// Stream starts a program in the container, as the container's user, beside the commands
// that [Container.Run] runs. The caller must Close the Stream. The program ends with the
// container, and the stream ends when the connection to the engine does: it is not
// connected again, since what was under way in between would be lost.
//
// The container needs bash. If the program does not exist, Stream may succeed and the Stream ends at once: see
// [Stream.Exit].
func (c *Container) Stream(ctx context.Context, p Program) (*Stream, error) {
	op := "starting " + p.Name + " in container " + c.short()
	if len(p.Args) == 0 || p.Name == "" {
		return nil, fault.Newf(fault.Usage, "%s: no program or no name given", op)
	}
	if err := c.admit(); err != nil {
		return nil, err
	}
	if err := c.endProgram(ctx, p.Name); err != nil {
		return nil, err
	}
	dir := p.Dir
	if dir == "" {
		dir = c.workDir
	}
	made, err := c.engine.API.ContainerExecCreate(ctx, c.id, container.ExecOptions{
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Cmd: p.Args, WorkingDir: dir, Env: append(append([]string{}, p.Env...), mark+"="+p.Name),
	})
	if err != nil {
		c.engine.NoteError(err)
		return nil, c.engine.Blame(err, fault.Transient, op)
	}
	s := &Stream{container: c, name: p.Name, id: made.ID, done: make(chan struct{}), exit: -1}
	s.close = sync.OnceValue(s.shut)
	if err := s.attach(ctx); err != nil {
		return nil, errors.Join(c.engine.Blame(err, fault.Transient, op), c.endProgram(context.WithoutCancel(ctx), p.Name))
	}
	stderr := p.Stderr
	if stderr == nil {
		stderr = io.Discard
	}
	out, in := io.Pipe()
	s.stdout = out
	go s.copy(in, stderr)
	return s, nil
}

// attach starts the program and connects to its streams.
func (s *Stream) attach(ctx context.Context) error {
	c := s.container
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	// The transport that limits the other calls does not see this connection.
	limit := c.engine.LimitOf(http.MethodPost, "/exec/id/start")
	slow := time.AfterFunc(limit, func() { end(&engine.NoAnswer{Call: "exec", Limit: limit}) })
	conn, err := c.engine.API.ContainerExecAttach(engine.Bound(inner), s.id, container.ExecAttachOptions{})
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
		c.engine.NoteError(err)
		return err
	}
	s.conn, s.end = conn, func() { end(nil) }
	return nil
}

// copy passes on the output until it ends, then notes how the program ended, before a reader
// of the output can ask for that.
func (s *Stream) copy(stdout *io.PipeWriter, stderr io.Writer) {
	_, err := stdcopy.StdCopy(stdout, stderr, s.conn.Reader)
	s.exit = s.exitCode()
	close(s.done)
	_ = stdout.CloseWithError(err) // always nil
}

// exitCode asks the engine how the program ended; -1: not known. A busy engine passes on
// the end of the output before it notes the end of the program.
func (s *Stream) exitCode() int {
	ctx, stop := context.WithTimeout(context.Background(), endLimit)
	defer stop()
	for {
		in, err := s.container.engine.API.ContainerExecInspect(ctx, s.id)
		if err == nil && !in.Running {
			return in.ExitCode
		}
		if err != nil || engine.Sleep(ctx, endLimit/1000) != nil {
			return -1
		}
	}
}

// Read reads the program's stdout; io.EOF means that it has ended.
func (s *Stream) Read(p []byte) (int, error) { return s.stdout.Read(p) }

// Write writes to the program's stdin.
func (s *Stream) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

// Exit returns the program's exit code once its stdout has ended; false before, or if the
// code is not known. 126 and 127 mean that it could not be started.
func (s *Stream) Exit() (code int, ended bool) {
	select {
	case <-s.done:
		return s.exit, s.exit >= 0
	default:
		return 0, false
	}
}

// Close ends the program: its stdin ends, and what still runs after a short time is
// killed, with every process that it started. A process of it that has both cleared its
// environment and left its session lives until the container ends. Close waits for the end
// and may be called twice; an error means that processes may be left.
func (s *Stream) Close() error { return s.close() }

func (s *Stream) shut() error {
	polite := time.NewTimer(politeness)
	defer polite.Stop()
	discarded := make(chan struct{})
	go func() { // a program that is stopped by unread output could not end
		defer close(discarded)
		_, _ = io.Copy(io.Discard, s.stdout)
	}()
	if s.conn.CloseWrite() == nil {
		select {
		case <-s.done:
		case <-polite.C:
		}
	}
	err := s.container.endProgram(context.Background(), s.name)
	s.end()
	s.conn.Close()
	_ = s.stdout.Close() // always nil
	<-s.done
	<-discarded
	return err
}

// endProgram kills the processes of the program with that name. Without the container,
// there are none.
func (c *Container) endProgram(ctx context.Context, name string) error {
	ctx, stop := context.WithTimeout(ctx, endLimit)
	defer stop()
	out, err := c.Run(ctx, Command{Script: "mark=" + bash.Quote(mark+"="+name) + "\n" + endScript, Dir: "/", Fresh: true})
	switch {
	case errors.Is(err, box.ErrClosed):
		return nil
	case err == nil && out.ExitCode != 0:
		return fault.Newf(fault.Transient, "ending %s in container %s: exit code %d, output %.200q", name, c.short(), out.ExitCode, out.Bytes)
	}
	return err
}

// endScript kills all processes that have the mark in their environment, or are in a
// session with one that has it, until there are none. It pauses in between: on a busy
// machine, a killed process needs a moment to end. Read waits where there may be no sleep.
const endScript = `sessions=" "
SECONDS=0
while ((SECONDS < 15)); do
  found=
  for p in /proc/[0-9]*; do
    pid=${p#/proc/} mine=
    [ "$pid" = 1 ] && continue
    { stat=$(<"$p/stat"); } 2>/dev/null || continue
    set -- ${stat##*) }
    [ "$1" = Z ] && continue
    case $sessions in *" $4 "*) mine=1;; esac
    [ "$mine" ] || { while IFS= read -r -d '' v; do
      [ "$v" = "$mark" ] && mine=1 && break
    done <"$p/environ"; } 2>/dev/null
    [ "$mine" ] || continue
    [ "$4" -gt 1 ] && sessions+="$4 "
    found=1
    kill -9 "$pid" 2>/dev/null
  done
  [ "$found" ] || exit 0
  read -rt 0.02 <> <(:)
done
exit 1
`
