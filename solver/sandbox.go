package solver

import (
	"context"
	"time"

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
	// Execute runs a command of the agent's as agent.Environment has it. The id is its
	// name in this sandbox: a command that was handed to it before, also by a process
	// that was killed meanwhile, is not run again but waited for, and gives the result
	// that it had or comes to. The empty id is no name.
	Execute(ctx context.Context, id, command string) (vocab.Output, error)
	// Vars are those of agent.Environment.
	Vars() map[string]any
	// Script runs a script of ours, with bash and a time limit of its own where
	// Execute has the agent's interpreter and limit.
	Script(ctx context.Context, script string) (vocab.Output, error)
	// Alive returns nil when commands can still be run. It waits for an engine that is away.
	Alive(ctx context.Context) error
	Facts() sandbox.Facts
	// Close ends and removes the sandbox. It works after a cancelled Open or
	// Execute too, in a bounded time of its own, and may be called twice.
	Close() error
}

// Rememberer is a Sandbox that is told how the scrub of its repository went: whether
// there was nothing to do, see boxgit.Clean, and how long it took.
type Rememberer interface {
	Scrubbed(clean bool, took time.Duration)
}

// ours is a sandbox as an environment for our own scripts.
type ours struct{ Sandbox }

func (o ours) Execute(ctx context.Context, script string) (vocab.Output, error) {
	return o.Script(ctx, script)
}

// actions is a sandbox as the agent's environment. What is executed is the action
// that the journal was told of last.
type actions struct {
	Sandbox
	rec *recorder
}

func (a actions) Execute(ctx context.Context, command string) (vocab.Output, error) {
	return a.Sandbox.Execute(ctx, a.rec.action, command)
}
