package attempt

import (
	"context"
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
