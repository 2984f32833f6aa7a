package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"batch.example/batch/fault"
)

// Command is what [Container.Run] runs.
type Command struct {
	Args    []string // interpreter that takes the script as its last argument; empty: bash -c
	Script  string
	Dir     string   // empty: the container's
	Env     []string // NAME=value, over the container's
	Timeout time.Duration
	Limit   int64 // bytes of output to keep; 0: MaxOutput

	// Longer, when not nil, is asked with the first Limit bytes of an output that has
	// more whether MaxOutput is to be kept of it.
	Longer func(begin []byte) bool

	// Fresh starts Args anew for this command, as docker exec would, where the
	// resident shell could run it: see the package comment for what differs.
	Fresh bool
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

	// Restarted: all processes of the container were ended, by this command or since
	// the one before it, and the container was started again, its files as they were.
	Restarted bool

	// Disk tells of a container whose files take more than [Spec.Disk] and that the
	// storage driver does not stop; else it is nil.
	Disk *DiskUse
}

// maxOffers is how often a command is handed to a shell that turns out not to
// have run it: the start files changed, or a command before broke the shell.
const maxOffers = 4

// Run runs one command with an empty stdin and waits for it to end; a process
// it leaves in the background is not waited for and lives on. Whatever the
// command does is in the result, a missing directory (126) or interpreter (127)
// included. Zero Timeout means no limit. The package comment says how commands
// are run.
//
// At Timeout and when ctx is cancelled, every process of the command is
// killed; what it wrote before is in the result. If some cannot be killed, as
// when a fork bomb leaves no room for the killer, the container is restarted:
// its files stay, all its processes go.
//
// A command that kills the shell it runs in has exit code 137, and so has one
// that kills every process of the container (kill -9 -1). The container is then
// started again, with its files as they are, however often; so it is when its
// processes were killed between two commands. No command is run twice. A
// container in which no bash can be started any more, by what ran in it, is an
// Instance fault that is [ErrDestroyed].
//
// An error means there is no observation: the container or the engine is gone
// (a fault with blame) or ctx was cancelled (its cause).
func (c *Container) Run(ctx context.Context, cmd Command) (Result, error) {
	dir := cmd.Dir
	if dir == "" {
		dir = c.workDir
	}
	if err := c.admit(); err != nil {
		return Result{}, err
	}
	restarted := false
	for n := range maxOffers {
		alive, renewed := c.engine.health.sign(), c.renewed.Load()
		s, err := c.take(ctx, cmd)
		if err != nil {
			if restarted, err = c.mend(ctx, err, renewed, restarted); err != nil {
				return Result{}, err
			}
			continue
		}
		kept := newCapped(cmd.Limit, cmd.Longer)
		start := time.Now()
		how, said := s.run(ctx, kept, dir, cmd)
		if how == refused {
			s.stream.close()
			if n == maxOffers-2 { // start files that change at each start
				c.shells.markUnfit(s.key)
			}
			continue
		}
		if how == ended {
			r := Result{Output: kept.bytes(), Total: kept.total, ExitCode: said.a, Duration: time.Since(start), Restarted: restarted}
			c.shells.put(s, said.b)
			if alive >= 0 {
				c.born.Store(int64(alive))
			}
			if r.ExitCode == 137 {
				r.OOM = c.oom(ctx, start.Add(-time.Second))
			}
			r.Disk = c.tell(ctx)
			return r, nil
		}
		ran := time.Since(start)
		err = c.cut(ctx, s, how, start)
		r := Result{Output: kept.bytes(), Total: kept.total, ExitCode: -1, Duration: ran, Restarted: restarted}
		if r, err = c.finish(ctx, r, s, how, start, renewed, err); err == nil {
			r.Disk = c.tell(ctx)
		}
		return r, err
	}
	return Result{}, c.unusable()
}

// cut ends what is left of a command, and its shell.
func (c *Container) cut(ctx context.Context, s *shell, how outcome, since time.Time) error {
	var err error
	if how != broken || !s.stream.ended() {
		err = c.kill(ctx, s, since)
		s.stream.drain()
	}
	s.stream.close()
	s.wire.end()
	return err
}

// finish completes the result of a command that did not end by itself, or not
// in the eyes of its dispatcher.
func (c *Container) finish(ctx context.Context, r Result, s *shell, how outcome, since time.Time, renewed int64, err error) (Result, error) {
	switch {
	case how == cancelled || ctx.Err() != nil:
		return r, context.Cause(ctx)
	case how == timedOut:
		r.TimedOut = true
		return r, err
	}
	code, known := c.code(ctx, s.stream.id)
	revived, err := c.survive(ctx)
	switch {
	case err != nil:
		return r, err
	case revived, c.renewed.Load() != renewed:
		r.ExitCode, r.Restarted = 137, true
		r.OOM = c.oom(ctx, since.Add(-time.Second))
		return r, nil
	case !known:
		return r, c.lost(s.stream.err)
	}
	r.ExitCode = 137
	if code > 128 {
		r.ExitCode = code
	}
	r.OOM = r.ExitCode == 137 && c.oom(ctx, since.Add(-time.Second))
	return r, c.kill(ctx, s, since) // what the shell did not live to end
}

// lost is the fault of a command that ended without its exit code being known,
// in a container that is well: so it was the engine that went away.
func (c *Container) lost(cause error) error {
	if cause == nil {
		cause = errors.New("the connection to the command ended")
	}
	return c.engine.blame(fmt.Errorf("%w: %w", ErrOutage, cause), fault.Transient, "running a command in container "+c.short())
}
