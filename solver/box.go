package solver

import (
	"context"
	"time"

	"batch.example/batch/sandbox"

	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// keptBox is a sandbox that outlives a failure of its attempt: what failed was the model,
// say, or the engine was away, and the attempt is resumed in it. An action that was under
// way is asked for again by its id.
type keptBox struct {
	Sandbox
	failed  bool // the sandbox did not do what it was asked
	doubted bool // nor did it before the resume
}

// Execute implements [Sandbox].
func (b *keptBox) Execute(ctx context.Context, id, command string) (vocab.Output, error) {
	out, err := b.Sandbox.Execute(ctx, id, command)
	b.failed = b.failed || err != nil
	return out, err
}

// Script implements [Sandbox].
func (b *keptBox) Script(ctx context.Context, script string) (vocab.Output, error) {
	out, err := b.Sandbox.Script(ctx, script)
	b.failed = b.failed || err != nil
	return out, err
}

// Scrubbed implements [Rememberer].
func (b *keptBox) Scrubbed(clean bool, took time.Duration) {
	if r, ok := b.Sandbox.(Rememberer); ok {
		r.Scrubbed(clean, took)
	}
}

// open returns the sandbox that was kept for the resume, where the recorded actions
// left it, else another one.
func (t *attempt) open(ctx context.Context) (*keptBox, error) {
	if box, ok := t.runner.Kept().(*keptBox); ok {
		t.box = box.Facts()
		if id := t.container(); id != "" && id == t.box.Container && box.lives(ctx) {
			t.box.Adopted, t.box.Pull, t.box.Start, t.box.Scrub = true, 0, 0, 0
			return box, nil
		}
		t.close(box)
	}
	box, err := t.Sandboxes.Open(ctx, sandbox.Opening{
		Instance:  t.in,
		Attempt:   t.result.Record.Attempt,
		Container: t.container(),
		Report:    func(phase string) { t.runner.Report(runner.Progress{Phase: phase}) },
	})
	if err != nil {
		return nil, err
	}
	t.box = box.Facts()
	t.log.Info("sandbox started", "container", t.box.Container, "image", t.box.Image.Ref, "image_id", t.box.Image.ID)
	return &keptBox{Sandbox: box}, nil
}

// lives reports whether anything can be run in a sandbox that failed before the resume.
func (b *keptBox) lives(ctx context.Context) bool {
	b.doubted, b.failed = b.failed, false
	if !b.doubted {
		return true
	}
	return b.Alive(ctx) == nil
}

// keeps reports whether the sandbox is left to a resume: somebody may run the instance again, and
// it did not fail twice in a row.
func (t *attempt) keeps(ctx context.Context, box *keptBox, err error) bool {
	return err != nil && !(box.failed && box.doubted) && ctx.Err() == nil
}

func (t *attempt) close(box Sandbox) {
	if err := box.Close(); err != nil {
		t.log.Error("removing the sandbox", "err", err)
	}
}
