package solver

import (
	"context"

	"batch.example/batch/agent"
	"batch.example/batch/runner"
)

// keptBox is a sandbox that outlives a try at its instance, unless it failed
// itself: what failed was the model, say, and the next try goes on in it.
type keptBox struct {
	Sandbox
	failed bool // the sandbox did not do what it was asked: what is in it is not known
}

// Execute implements agent.Environment.
func (b *keptBox) Execute(ctx context.Context, command string) (agent.Output, error) {
	out, err := b.Sandbox.Execute(ctx, command)
	b.failed = b.failed || err != nil
	return out, err
}

// Script implements [Sandbox].
func (b *keptBox) Script(ctx context.Context, script string) (agent.Output, error) {
	out, err := b.Sandbox.Script(ctx, script)
	b.failed = b.failed || err != nil
	return out, err
}

// open returns the sandbox that the try before kept, where the recorded actions
// left it, else another one.
func (t *attempt) open(ctx context.Context) (*keptBox, error) {
	if box, ok := t.runner.Kept().(*keptBox); ok {
		t.box = box.Facts()
		if id := t.container(); id != "" && id == t.box.Container {
			t.box.Adopted, t.box.Pull, t.box.Start = true, 0, 0
			return box, nil
		}
		t.close(box)
	}
	box, err := t.Sandboxes.Open(ctx, Opening{
		Instance:  t.in,
		Attempt:   t.result.Record.Attempt,
		Container: t.container(),
		Report:    func(phase string) { t.runner.Report(runner.Progress{Phase: phase}) },
	})
	if err != nil {
		return nil, err
	}
	t.box = box.Facts()
	t.log.Info("sandbox started", "container", t.box.Container, "image", t.box.Image, "image_id", t.box.ImageID)
	return &keptBox{Sandbox: box}, nil
}

// keeps reports whether the sandbox is left to another try: what failed was not its
// own doing, and somebody may try again.
func (t *attempt) keeps(ctx context.Context, box *keptBox, err error) bool {
	return err != nil && !box.failed && ctx.Err() == nil
}

func (t *attempt) close(box Sandbox) {
	if err := box.Close(); err != nil {
		t.log.Error("removing the sandbox", "err", err)
	}
}
