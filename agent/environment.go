package agent

import (
	"context"
	"errors"

	"batch.example/batch/vocab"
)

// ErrDestroyed is in the chain of an error of Execute when what was executed
// before, or the command itself, has made the environment unusable. It ends a
// run as [vocab.StatusEnvironmentDestroyed], which is a result of the agent and no failure.
var ErrDestroyed = errors.New("the agent has made its environment unusable")

// Environment is where actions run. The agent needs no more of a container.
type Environment interface {
	// Execute runs one command in a fresh shell, with empty stdin, and waits
	// for it or for its time limit. What the command does, its exit code and
	// a timeout included, is in the Output; an error is a *fault.Error,
	// [ErrDestroyed] or the cancellation of ctx and ends the run.
	Execute(ctx context.Context, command string) (vocab.Output, error)

	// Vars are the template variables that describe the environment.
	Vars() map[string]any
}
