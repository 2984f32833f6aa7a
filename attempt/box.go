package attempt

import (
	"context"
	"sync/atomic"

	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

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
// canceled, and the sandbox did not fail twice in a row.
func (t *attempt) keeps(ctx context.Context, box *keptBox, err error) bool {
	return err != nil && !(box.failed.Load() && box.doubted) && ctx.Err() == nil
}

func (t *attempt) close(box Sandbox) {
	if err := box.Close(); err != nil {
		t.log.Error("removing the sandbox", "err", err)
	}
}
