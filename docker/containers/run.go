package containers

import (
	"context"
	"errors"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/vocab"
)

// MaxOutput is how much of a command's output is kept at most, in bytes.
const MaxOutput = 10 << 20

// Command is what [Container.Run] runs.
type Command struct {
	// ID names the command in its container: run again with the same ID, also by
	// another process after a kill, it gives the result of the first and is not run
	// twice. Empty: one is made up.
	ID string

	Args    []string // interpreter that takes the script as its last argument; empty: bash -c
	Script  string
	Dir     string   // empty: the container's
	Env     []string // NAME=value, over the container's
	Timeout time.Duration
	Limit   int64 // bytes of output to keep, of a longer one the first (Limit+1)/2 and the last Limit/2; 0: MaxOutput

	// Longer, when not nil, is asked with the first Limit bytes of an output that has
	// more whether MaxOutput is to be kept of it.
	Longer func(begin []byte) bool

	// Ahead starts the next command's interpreter, where that is a bash, as soon as
	// this one has ended: see the package comment. Fresh never does.
	Ahead, Fresh bool
}

// Run runs one command with an empty stdin and waits for it to end; a process
// it leaves in the background is not waited for and lives on. Whatever the
// command does is in the result, a missing directory (126) included. Zero Timeout
// means no limit. The package comment says how commands are run.
//
// At Timeout and when ctx is cancelled, every process of the command is
// killed; what it wrote before is in the result. If some cannot be killed, the
// container is restarted: its files stay, all its processes go. A command with an ID
// goes on when ctx is cancelled.
//
// A connection that breaks is made again, and no command is run twice. When the
// container has used up its memory with what no process holds, it has exit code 137,
// and the container is started again with its files. A container whose interpreter
// was there and is not any more is an Instance fault that is [vocab.ErrDestroyed]; one that
// never had it is an Instance fault.
//
// An error means there is no observation: the container or the engine is gone
// (a fault with blame) or ctx was cancelled (its cause).
func (c *Container) Run(ctx context.Context, cmd Command) (vocab.Output, error) {
	if err := c.admit(); err != nil {
		return vocab.Output{}, err
	}
	run := c.wireRun(cmd)
	c.calls.mu.Lock()
	run.Forget, c.calls.forget = c.calls.forget, nil
	c.calls.mu.Unlock()
	alive := c.engine.Sign()
	q := &question{frame: wire.Frame{Kind: wire.KindRun, ID: cmd.ID, Data: wire.Encode(run)}, longer: cmd.Longer, begin: int(run.Limit)}
	if cmd.Timeout > 0 {
		q.limit = cmd.Timeout + overdueAfter
	}
	lost, err := c.ask(ctx, q)
	if errors.Is(err, errOverdue) {
		return vocab.Output{ExitCode: -1, TimedOut: true, Restarted: true, Duration: q.limit}, c.restart(ctx, "killing a command in")
	}
	if err != nil {
		if ctx.Err() != nil && cmd.ID != "" { // what was killed is no result for who asks again
			return vocab.Output{}, context.Cause(ctx)
		}
		if ctx.Err() != nil {
			return c.cancel(ctx, q.frame.ID), context.Cause(ctx)
		}
		return vocab.Output{}, err
	}
	if lost {
		return vocab.Output{ExitCode: 137, OOM: true, Restarted: true, Disk: c.tell(ctx)}, nil
	}
	r, err := c.result(ctx, run.Args[0], q)
	if alive >= 0 {
		c.born.Store(int64(alive))
	}
	c.calls.mu.Lock()
	c.calls.forget = append(c.calls.forget, q.frame.ID)
	c.calls.mu.Unlock()
	r.Disk = c.tell(ctx)
	return r, err
}

// overdueAfter is how long after its time limit a command is given up by batch, which
// its init should have ended.
const overdueAfter = time.Minute

// Prepare starts the interpreter of a command like cmd, so that the first such
// command finds it ready. That is all it does: what is wrong, the command meets.
func (c *Container) Prepare(ctx context.Context, cmd Command) {
	run := c.wireRun(cmd)
	if l, err := c.connected(ctx); err == nil && run.Ahead {
		l.Write(wire.Frame{Kind: wire.KindReady, Data: wire.Encode(run)})
	}
}

func (c *Container) wireRun(cmd Command) wire.Run {
	m := wire.Run{
		Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Script: cmd.Script,
		Timeout: uint64(cmd.Timeout), Limit: uint64(cmd.Limit), Ask: cmd.Longer != nil,
	}
	if len(m.Args) == 0 {
		m.Args = []string{"bash", "-c"}
	}
	if m.Dir == "" {
		m.Dir = c.workDir
	}
	if m.Limit == 0 {
		m.Limit = MaxOutput
	}
	m.Load = !cmd.Fresh && loads(m.Args)
	m.Ahead = m.Load && cmd.Ahead
	return m
}

// loads reports whether args are a bash that takes a script as bash -c does, and so
// can be started before it is known.
func loads(args []string) bool {
	switch args[0] {
	case "bash", "/bin/bash", "/usr/bin/bash":
	default:
		return false
	}
	switch strings.Join(args[1:], " ") {
	case "-c", "-lc", "-cl", "-l -c", "--login -c":
		return true
	}
	return false
}

// result reads the answer to a command of that interpreter.
func (c *Container) result(ctx context.Context, interpreter string, q *question) (vocab.Output, error) {
	var m wire.Result
	if err := wire.Decode(q.answer.Data, &m); err != nil {
		return vocab.Output{}, c.lost(err)
	}
	r := vocab.Output{
		Bytes: q.out, Total: int64(m.Total), ExitCode: int(m.Code), Duration: time.Duration(m.Nanos),
		TimedOut: m.TimedOut, OOM: m.OOM, Restarted: m.Cleared || q.emptied,
	}
	if m.TimedOut {
		r.ExitCode = -1
	}
	switch {
	case m.Alive:
		r.Restarted = true
		return r, c.restart(ctx, "killing a command in")
	case m.Missing:
		return r, c.missing(interpreter, string(q.out))
	}
	c.worked.Store(interpreter, true)
	return r, nil
}

// missing is the fault of a container that lacks the interpreter of its commands.
func (c *Container) missing(interpreter, said string) error {
	f := fault.Newf(fault.Instance, "running a command in container %s: %.300s", c.short(), strings.TrimSpace(said))
	if _, worked := c.worked.Load(interpreter); worked {
		return c.ruin(f)
	}
	return f.WithHint("the image must have %s, or environment.interpreter name a shell that it has", interpreter)
}

// cancelLimit bounds the end of a command that nobody waits for any more.
const cancelLimit = 10 * time.Second

// cancel ends a command whose caller's ctx was cancelled, and returns what it did
// before, as far as that is known.
func (c *Container) cancel(ctx context.Context, id string) (r vocab.Output) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelLimit)
	defer stop()
	if c.calls.current() == nil {
		return r // the container is about to go
	}
	q := &question{frame: wire.Frame{Kind: wire.KindKill, ID: id}}
	var m wire.Result
	if _, err := c.ask(ctx, q); err == nil && q.answer.Kind == wire.KindResult && wire.Decode(q.answer.Data, &m) == nil {
		r = vocab.Output{Bytes: q.out, Total: int64(m.Total), ExitCode: int(m.Code), Duration: time.Duration(m.Nanos)}
	}
	return r
}
