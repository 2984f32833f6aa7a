package box

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

// Command describes a command for [Box.Run].
type Command struct {
	// ID names the command in its container. A second Run with the same ID, even by
	// another process after a kill, returns the first result and does not run the command
	// twice. Empty: a random ID.
	ID string

	Args    []string // interpreter that takes the script as its last argument; empty: bash -c, or sh -c in an image without bash
	Script  string
	Dir     string   // empty: the container's
	Env     []string // NAME=value, overrides the container's
	Timeout time.Duration
	Limit   int64 // bytes of output to keep; if it is longer, the first (Limit+1)/2 and the last Limit/2; 0: MaxOutput

	// Longer, when not nil, is called if the output is longer than Limit, with its first
	// Limit bytes. If Longer returns true, MaxOutput bytes are kept instead.
	Longer func(begin []byte) bool

	// Keep makes the helper know the result for as long as it runs, although a Run has returned it. It keeps few.
	Keep bool

	// Ahead starts the next command's interpreter, if it is bash, as soon as
	// this command has ended: see package docker. Fresh never uses such an interpreter.
	Ahead, Fresh bool
}

// Run runs one command with an empty stdin and waits for it to end. It waits at
// most a second for a process that the command leaves in the background, and that keeps
// running. Whatever the command does is in the result, including a missing directory (126).
// Zero Timeout means no limit. Package docker documents how commands run.
//
// At Timeout, and when ctx is canceled, every process of the command is
// killed; what it wrote before is in the result. If some process cannot be killed, the
// container is restarted: its files stay, all its processes end. But a command with an ID
// continues when ctx is canceled, except with the cause [vocab.ErrInterrupted].
//
// When the connection breaks, Run connects again, and no command runs twice. When the
// container has used up its memory with something that no process holds, the command has
// exit code 137, and the container is started again with its files. If the interpreter
// existed and no longer does, Run returns an Instance fault that is [vocab.ErrDestroyed]; if
// it never existed, an Instance fault.
//
// An error means there is no observation: the container or the engine is gone
// (a fault with blame) or ctx was canceled (its cause).
func (b *Box) Run(ctx context.Context, cmd Command) (vocab.Output, error) {
	answered, err := b.carrier.Admit()
	if err != nil {
		return vocab.Output{}, err
	}
	run := b.wireRun(cmd)
	b.mu.Lock()
	run.Forget, b.forget = b.forget, nil
	b.mu.Unlock()
	q := &question{frame: wire.Frame{Kind: wire.KindRun, ID: cmd.ID, Data: wire.Encode(run)}, longer: cmd.Longer, begin: int(run.Limit)}
	q.limit = max(0, cmd.Timeout)
	began := time.Now()
	lost, err := b.ask(ctx, q)
	if errors.Is(err, errOverdue) {
		return vocab.Output{ExitCode: -1, TimedOut: true, Restarted: true, Duration: time.Since(began)}, b.restart(ctx, "killing a command in")
	}
	if err != nil {
		if ctx.Err() != nil && cmd.ID != "" && !errors.Is(context.Cause(ctx), vocab.ErrInterrupted) { // a killed command has no result to return
			return vocab.Output{}, context.Cause(ctx)
		}
		if ctx.Err() != nil {
			return b.cancel(ctx, q.frame.ID), context.Cause(ctx)
		}
		return vocab.Output{}, err
	}
	if lost {
		return vocab.Output{ExitCode: 137, OOM: true, Restarted: true, Disk: b.carrier.DiskUse(ctx)}, nil
	}
	r, err := b.conclude(ctx, run.Args[0], q)
	answered()
	if !cmd.Keep {
		b.mu.Lock()
		b.forget = append(b.forget, q.frame.ID)
		b.mu.Unlock()
	}
	if _, worked := b.worked.Load(ownShell); len(cmd.Args) == 0 && q.result.Missing && !worked {
		cmd.Args = otherShell
		return b.Run(ctx, cmd)
	}
	r.Disk = b.carrier.DiskUse(ctx)
	return r, err
}

// overdueAfter is how long batch waits after a command's time limit for the init to end the command,
// before it gives up. Only the time of one connection counts: after an outage, the command may have
// ended long ago, and a new connection brings its result.
const overdueAfter = time.Minute

// Prepare starts the interpreter of a command like cmd, so that the first such
// command finds it ready. It reports no errors: the command will report them.
func (b *Box) Prepare(ctx context.Context, cmd Command) {
	run := b.wireRun(cmd)
	if l, err := b.connected(ctx); err == nil && run.Ahead {
		l.write(wire.Frame{Kind: wire.KindReady, Data: wire.Encode(run)})
	}
}

func (b *Box) wireRun(cmd Command) wire.Run {
	m := wire.Run{
		Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Script: cmd.Script,
		Timeout: uint64(cmd.Timeout), Limit: uint64(cmd.Limit), Ask: cmd.Longer != nil,
	}
	if len(m.Args) == 0 {
		m.Args = []string{ownShell, "-c"}
	}
	if m.Dir == "" {
		m.Dir = b.carrier.Dir()
	}
	if m.Limit == 0 {
		m.Limit = MaxOutput
	}
	m.Load = !cmd.Fresh && loads(m.Args)
	m.Ahead = m.Load && cmd.Ahead
	return m
}

// loads reports whether args are a bash that takes a script as bash -c does. Such a bash
// can be started before the script is known.
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

// output returns the output of a command from the question's result.
func (q *question) output() vocab.Output {
	m := q.result
	return vocab.Output{Bytes: q.out, Total: int64(m.Total), ExitCode: int(m.Code), Duration: time.Duration(m.Nanos)}
}

// conclude returns the output of a command that ran in the interpreter. It starts the
// container again if processes of the command are left.
func (b *Box) conclude(ctx context.Context, interpreter string, q *question) (vocab.Output, error) {
	r, m := q.output(), q.result
	r.TimedOut, r.OOM, r.Restarted = m.TimedOut, m.OOM, m.Cleared || q.emptied
	if m.TimedOut {
		r.ExitCode = -1
	}
	switch {
	case m.Alive:
		r.Restarted = true
		return r, b.restart(ctx, "killing a command in")
	case m.Missing:
		return r, b.missing(interpreter, string(q.out))
	}
	b.worked.Store(interpreter, true)
	return r, nil
}

// ownShell runs the commands that name no interpreter, such as batch's own scripts; otherShell does where the
// image has no ownShell. Only the scripts that both understand work there.
const ownShell = "bash"

var otherShell = []string{"sh", "-c"}

// missing returns the fault of a container that lacks the interpreter of its commands.
func (b *Box) missing(interpreter, said string) error {
	f := fault.Newf(fault.Instance, "running a command in container %s: %.300s", b.carrier.Name(), strings.TrimSpace(said))
	if _, worked := b.worked.Load(interpreter); worked {
		return b.carrier.Destroyed(f)
	}
	return f.WithHint("install %s in the image, or set `environment.interpreter` to a shell that the image has", interpreter)
}

// cancelLimit is how long ending a canceled command may take.
const cancelLimit = 10 * time.Second

// cancel ends a command after its caller's ctx was canceled, and returns its output so
// far, if that is known.
func (b *Box) cancel(ctx context.Context, id string) (r vocab.Output) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelLimit)
	defer stop()
	if b.current() == nil {
		return r // the container is about to go
	}
	q := &question{frame: wire.Frame{Kind: wire.KindKill, ID: id}}
	if _, err := b.ask(ctx, q); err == nil && q.result != nil {
		r = q.output()
	}
	return r
}
