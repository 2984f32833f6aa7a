package solver

import (
	"context"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/dataset"
)

// Sandboxes opens one sandbox for each attempt. It is safe for concurrent use.
type Sandboxes interface {
	// Open returns a running sandbox or a *fault.Error that leaves nothing behind.
	Open(ctx context.Context, o Opening) (Sandbox, error)
}

// Opening says for whom a sandbox is.
type Opening struct {
	Instance dataset.Instance
	Attempt  int
	// Container is the id of one that holds the state to go on from; empty when
	// there is none. It is taken over if it still runs, else it is removed, as
	// is any other that an earlier run made for the instance, and Open makes a
	// new one.
	Container string
	Report    func(phase string) // "pull", then "start"
}

// Sandbox is one attempt's environment.
type Sandbox interface {
	agent.Environment
	// Script runs a script of ours, with bash and a time limit of its own where
	// Execute has the agent's interpreter and limit.
	Script(ctx context.Context, script string) (agent.Output, error)
	Facts() Facts
	// Close ends and removes the sandbox. It works after a cancelled Open or
	// Execute too, in a bounded time of its own, and may be called twice.
	Close() error
}

// ours is a sandbox as an environment for our own scripts.
type ours struct{ Sandbox }

func (o ours) Execute(ctx context.Context, script string) (agent.Output, error) {
	return o.Script(ctx, script)
}

// Facts is what a sandbox turned out to be.
type Facts struct {
	Container string // id
	Adopted   bool   // it is the Opening's
	Image     string // as asked for
	ImageID   string
	Digest    string // of the image in its registry; empty for a local one
	Pull      time.Duration
	Start     time.Duration
	Settings  map[string]any // the environment's part of a trajectory's config
}
