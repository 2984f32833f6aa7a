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
	Report    func(phase string) // "pull", "scrub" where the sandbox waits for that, then "start"
}

// Sandbox is one attempt's environment.
type Sandbox interface {
	// Execute runs a command of the agent's as agent.Environment has it. The id is its
	// name in this sandbox: a command that was handed to it before, also by a process
	// that was killed meanwhile, is not run again but waited for, and gives the result
	// that it had or comes to. The empty id is no name.
	Execute(ctx context.Context, id, command string) (agent.Output, error)
	// Vars are those of agent.Environment.
	Vars() map[string]any
	// Script runs a script of ours, with bash and a time limit of its own where
	// Execute has the agent's interpreter and limit.
	Script(ctx context.Context, script string) (agent.Output, error)
	// Alive returns nil when commands can still be run. It waits for an engine that is away.
	Alive(ctx context.Context) error
	Facts() Facts
	// Close ends and removes the sandbox. It works after a cancelled Open or
	// Execute too, in a bounded time of its own, and may be called twice.
	Close() error
}

// Rememberer is a Sandbox that is told how the scrub of its repository went: whether
// there was nothing to do, see gitscrub.Clean, and how long it took.
type Rememberer interface {
	Scrubbed(clean bool, took time.Duration)
}

// ours is a sandbox as an environment for our own scripts.
type ours struct{ Sandbox }

func (o ours) Execute(ctx context.Context, script string) (agent.Output, error) {
	return o.Script(ctx, script)
}

// actions is a sandbox as the agent's environment. What is executed is the action
// that the journal was told of last.
type actions struct {
	Sandbox
	rec *recorder
}

func (a actions) Execute(ctx context.Context, command string) (agent.Output, error) {
	return a.Sandbox.Execute(ctx, a.rec.action, command)
}

// Facts is what a sandbox turned out to be.
type Facts struct {
	Container string // id
	Adopted   bool   // it is the Opening's
	Known     bool   // that its repository needs no scrub: see gitscrub.Known
	Scrubbed  bool   // it was scrubbed before, whole
	Image     string // as asked for
	ImageID   string
	Digest    string // of the image in its registry; empty for a local one
	Pull      time.Duration
	Start     time.Duration
	Scrub     time.Duration  // it waited for an image with its history scrubbed
	Settings  map[string]any // the environment's part of a trajectory's config
}
