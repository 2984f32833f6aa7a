package agent

import (
	"context"

	"batch.example/batch/vocab"
)

// Environment is where actions run. The agent needs no more of a container.
type Environment interface {
	// Execute runs one command in a fresh shell, with empty stdin, and waits
	// for it or for its time limit. What the command does, its exit code and
	// a timeout included, is in the Output; an error is a *fault.Error,
	// [vocab.ErrDestroyed] or the cancellation of ctx and ends the run.
	Execute(ctx context.Context, command string) (vocab.Output, error)

	// Vars are the template variables that describe the environment.
	Vars() map[string]any
}
