package grading

import (
	"context"

	"batch.example/batch/dataset"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// Boxes opens the containers in which tests run. It is safe for concurrent use.
type Boxes interface {
	// Image returns the image of an instance if the engine has it.
	Image(ctx context.Context, in dataset.Instance) (vocab.Image, bool, error)
	// Open opens a fresh container in a network. The caller must Close it. After an error,
	// a *fault.Error, nothing is left behind.
	Open(ctx context.Context, in dataset.Instance, network string, report func(phase string)) (Box, error)
}

// Box is one container.
type Box interface {
	evaluate.Box
	Facts() sandbox.Facts
	// Reaches reports whether a package index that a script may install from can be reached.
	// The script runs in the folder workdir.
	Reaches(ctx context.Context, workdir, script string) (bool, error)
	// Close ends the container; see [sandbox.Sandbox.Close].
	Close() error
}

// On returns the Boxes of a host.
func On(host *sandbox.Host) Boxes { return hosted{host, &reach{known: map[string]reached{}}} }

type hosted struct {
	*sandbox.Host
	reach *reach
}

// Open implements Boxes.
func (h hosted) Open(ctx context.Context, in dataset.Instance, network string, report func(string)) (Box, error) {
	s, err := h.Host.Open(ctx, sandbox.Opening{Instance: in, Report: report, Pristine: true, Network: network})
	if err != nil {
		return nil, err
	}
	return box{s, h.reach}, nil
}

type box struct {
	*sandbox.Sandbox
	reach *reach
}

// Reaches implements Box.
func (b box) Reaches(ctx context.Context, workdir, script string) (bool, error) {
	return b.reach.any(ctx, b, workdir, script)
}
