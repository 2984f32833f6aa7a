package attempt

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"batch.example/batch/internal/boxgit"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// Sandboxes opens one sandbox for each attempt. It is safe for concurrent use.
type Sandboxes interface {
	// Open returns a running sandbox or a *fault.Error that leaves nothing behind.
	Open(ctx context.Context, o sandbox.Opening) (Sandbox, error)
}

// Sandbox is one attempt's environment.
type Sandbox interface {
	// Execute runs an agent's command as agent.Environment describes. The id names the
	// command in this sandbox: if a command with this id was started before, even by a
	// process that was killed since, it does not run again; Execute waits for it and
	// returns its result. A command with an empty id always runs; several may at the same
	// time.
	Execute(ctx context.Context, id, command string) (vocab.Output, error)
	// Vars implements agent.Environment.
	Vars() map[string]any
	// Script runs one of batch's own scripts, with bash and its own time limit instead
	// of the agent's interpreter and limit.
	Script(ctx context.Context, script string) (vocab.Output, error)
	// Alive returns nil if commands can still be run. It waits for an engine that is unreachable.
	Alive(ctx context.Context) error
	// Stream starts a program beside the agent's commands. The caller must Close the Stream.
	Stream(ctx context.Context, p sandbox.Program) (sandbox.Stream, error)
	// Launch runs the agent's own program and waits for its end, Listen returns what that connects to,
	// and Clear ends all processes: see package sandbox.
	Launch(ctx context.Context, id string, l sandbox.Launch) (vocab.Output, error)
	Listen(ctx context.Context) (net.Listener, error)
	Clear(ctx context.Context) error
	// CheckShell returns what the shell prints before the output of each command, which
	// Execute takes off from then on. If the shell prints more than that, the error is an
	// Instance fault.
	CheckShell(ctx context.Context) (preamble []byte, err error)
	// Checked returns what ask prints about the commit that the repository is at, or what it
	// printed in another container of the same image.
	Checked(ctx context.Context, ask func() (vocab.Output, error)) (vocab.Output, error)
	// ShareScrub waits until a scrub of the same repository in another container has ended,
	// if the sandbox can use its outcome. Clean means that there is nothing to remove.
	ShareScrub(ctx context.Context) (clean bool)
	// Scrubbed saves what a scrub has found out, and how long it took.
	Scrubbed(report boxgit.Report, took time.Duration)
	Facts() sandbox.Facts
	// Close ends the sandbox; it may be removed after Close has returned. It also works
	// after a canceled Open or Execute, has its own time limit, and may be called twice.
	Close() error
}

// keptBox is a sandbox that is kept after its attempt failed, for example because the
// model failed or the engine was unreachable. The attempt is resumed in it, and an action
// that was running is requested again by its id.
type keptBox struct {
	Sandbox
	failed  atomic.Bool // a call to the sandbox failed
	doubted bool        // a call had failed before the resume too
}

// Execute implements [Sandbox].
func (b *keptBox) Execute(ctx context.Context, id, command string) (vocab.Output, error) {
	out, err := b.Sandbox.Execute(ctx, id, command)
	if err != nil {
		b.failed.Store(true)
	}
	return out, err
}

// Script implements [Sandbox].
func (b *keptBox) Script(ctx context.Context, script string) (vocab.Output, error) {
	out, err := b.Sandbox.Script(ctx, script)
	if err != nil {
		b.failed.Store(true)
	}
	return out, err
}

// open returns the sandbox that was kept for the resume, in the state that the recorded
// actions left. Without a usable one, it opens another.
func (t *attempt) open(ctx context.Context) (*keptBox, error) {
	if box, ok := t.runner.Kept().(*keptBox); ok {
		t.box = box.Facts()
		if id := t.container(); id != "" && id == t.box.Container && box.lives(ctx) {
			t.box.Adopted, t.box.Pull, t.box.Start = true, 0, 0
			return box, nil
		}
		t.close(box)
	}
	box, err := t.Sandboxes.Open(ctx, sandbox.Opening{
		Instance:  t.in,
		Attempt:   t.result.Record.Attempt,
		Container: t.container(),
		Preamble:  t.preamble(),
		Report:    t.opening,
	})
	if err != nil {
		return nil, err
	}
	t.box = box.Facts()
	t.log.Info("sandbox started", "container", t.box.Container, "image", t.box.Image.Ref, "image_id", t.box.Image.ID)
	return &keptBox{Sandbox: box}, nil
}

// opening reports and measures the phases of opening a sandbox.
func (t *attempt) opening(phase string) {
	spent := &t.watch.spent
	switch phase {
	case "pull":
		t.watch.to(&spent.Pull)
	default:
		t.watch.to(&spent.Start)
	}
	t.report(phase)
}

// lives reports whether the sandbox can still run commands. Only one that failed before
// the resume is checked.
func (b *keptBox) lives(ctx context.Context) bool {
	b.doubted = b.failed.Swap(false)
	if !b.doubted {
		return true
	}
	return b.Alive(ctx) == nil
}

// keeps reports whether the sandbox is kept for a resume: the attempt failed but was not
// canceled, and the sandbox did not fail twice in a row. One with a program of the user's own is not:
// the program has been told that its calls are over.
func (t *attempt) keeps(ctx context.Context, box *keptBox, err error) bool {
	return err != nil && t.Program == nil && !(box.failed.Load() && box.doubted) && ctx.Err() == nil
}

func (t *attempt) close(box Sandbox) {
	if err := box.Close(); err != nil {
		t.log.Error("removing the sandbox", "err", err)
	}
}
