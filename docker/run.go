package docker

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/fault"
)

// killLimit bounds the killing of a command's process tree.
const killLimit = 10 * time.Second

// Command is what [Container.Run] runs.
type Command struct {
	Args    []string // interpreter that takes the script as its last argument; empty: bash -c
	Script  string
	Dir     string   // empty: the container's
	Env     []string // NAME=value, over the container's
	Timeout time.Duration
	Limit   int64 // bytes of output to keep; 0: 10 MiB
}

// Result is what a command did.
type Result struct {
	// Output is stdout and stderr, in the order in which they were written.
	// When Total is larger than its length, it is the first (Limit+1)/2 and the
	// last Limit/2 bytes.
	Output   []byte
	Total    int64 // bytes written
	ExitCode int   // -1 when TimedOut
	TimedOut bool  // it was killed, with all its children, at Timeout
	OOM      bool  // ExitCode is 137 and a process of the container was killed for memory meanwhile
	Duration time.Duration
}

// Run runs one command in a fresh interpreter with an empty stdin and waits
// for it to end; a process it leaves in the background is not waited for and
// lives on. Whatever the command does is in the result, a missing directory
// (126) or interpreter (127) included. Zero Timeout means no limit.
//
// A script over 100 KiB, or one that is not UTF-8, goes to the interpreter's
// eval instead of its argument list, so that Args must then be a shell; bash
// needs no other program for it, others need cat. The environment holds
// BATCH_COMMAND, a number, by which the processes of a command are found.
// BASH_ENV is left out of it when it names a file that the container's user
// cannot read: bash would complain of it in every output.
//
// At Timeout and when ctx is cancelled, every process of the command is
// killed; what it wrote before is in the result. If some cannot be killed, as
// when a fork bomb leaves no room for the killer, the container is restarted:
// its files stay, all its processes go.
//
// A command that kills every process of the container (kill -9 -1) has exit
// code 137. The container is started again for it, with its files as they are,
// up to three times; after that it is a fault.
//
// An error means there is no observation: the container or the engine is gone
// (a fault with blame) or ctx was cancelled (its cause).
func (c *Container) Run(ctx context.Context, cmd Command) (Result, error) {
	dir := cmd.Dir
	if dir == "" {
		dir = c.workDir
	}
	inv := prepare(cmd, dir, c.engine.commands.Add(1))
	kept := newCapped(cmd.Limit)
	sink := &ending{mark: []byte(inv.mark), out: kept, code: -1}
	// The connection outlives ctx: the output of a cancelled command is still read.
	s, err := c.openUntil(ctx, inv, sink)
	if err != nil {
		return Result{}, c.startFault(ctx, err)
	}
	start := time.Now()
	cut := s.await(ctx, cmd.Timeout)
	if cut != ended {
		err = c.kill(ctx, inv.token)
		s.drain()
	}
	s.close()
	sink.flush()
	r := Result{Output: kept.bytes(), Total: kept.total, ExitCode: sink.code, Duration: time.Since(start)}
	switch {
	case cut == cancelled:
		r.ExitCode = -1
		return r, context.Cause(ctx)
	case cut == timedOut:
		r.ExitCode, r.TimedOut = -1, true
		return r, err
	}
	return c.finish(ctx, r, s)
}

// finish completes the result of a command that ended by itself.
func (c *Container) finish(ctx context.Context, r Result, s *stream) (Result, error) {
	told := r.ExitCode >= 0
	if told && r.ExitCode != 137 {
		return r, nil
	}
	// Killed: by itself, for memory, or together with its container.
	known := true
	if !told {
		r.ExitCode, known = c.code(ctx, s.id)
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	revived, err := c.survive(ctx, r.Duration)
	switch {
	case err != nil:
		return r, err
	case revived:
		r.ExitCode = 137
		return r, nil
	case !known || (!told && (r.ExitCode == 126 || r.ExitCode == 127)):
		return r, c.lost(s.err)
	case r.ExitCode == 137:
		r.OOM = c.oom(ctx, time.Now().Add(-r.Duration-time.Second))
	}
	return r, nil
}

// lost is the fault of a command that ended without its exit code being known,
// in a container that is well.
func (c *Container) lost(cause error) error {
	if cause == nil {
		cause = errors.New("lost the connection to it")
	}
	return blame(cause, fault.Transient, "running a command in container "+c.short())
}

// openUntil opens the stream of inv such that cancelling ctx ends the start of
// the command, but not the command's output.
func (c *Container) openUntil(ctx context.Context, inv invocation, sink *ending) (*stream, error) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, cancel)
	// Only the wrapper's own bash writes to stderr: what it or the loader says at its start.
	s, err := c.open(inner, inv.argv, inv.env, inv.stdin, sink, io.Discard)
	if !release() && err == nil { // cancelled in between: inner is over and with it the stream
		s.close()
		_ = c.kill(ctx, inv.token)
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	end := s.end
	s.end = func() { end(); cancel() }
	return s, nil
}

// outcome is how waiting for a command ended.
type outcome int

const (
	ended outcome = iota
	timedOut
	cancelled
)

func (s *stream) await(ctx context.Context, limit time.Duration) outcome {
	var expired <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-s.done:
		return ended
	case <-ctx.Done():
		return cancelled
	case <-expired:
		return timedOut
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

// kill ends every process that carries token, also when ctx is cancelled.
func (c *Container) kill(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killLimit)
	defer cancel()
	out, _, err := c.output(ctx, "bash", "-p", "-c", killer, "bash", token)
	if err == nil && out == "clean" {
		return nil
	}
	const doing = "killing a command in"
	if f := c.gone(ctx, doing); f != nil {
		return f
	}
	c.engine.log.Warn("restarting a container whose command could not be killed", "container", c.short(), "err", err)
	return c.restart(ctx, doing+" container "+c.short())
}

// restart ends all processes of the container and keeps its files.
func (c *Container) restart(ctx context.Context, op string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	now := 0
	err := c.engine.api.ContainerRestart(ctx, c.id, container.StopOptions{Timeout: &now})
	return blame(err, fault.Transient, op)
}
