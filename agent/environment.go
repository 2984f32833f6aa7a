package agent

import (
	"context"
	"errors"
	"time"
)

// ErrDestroyed is in the chain of an error of Execute when what was executed
// before, or the command itself, has made the environment unusable. It ends a
// run as [EnvironmentDestroyed], which is a result of the agent and no failure.
var ErrDestroyed = errors.New("the agent has made its environment unusable")

// Environment is where actions run. The agent needs no more of a container.
type Environment interface {
	// Execute runs one command in a fresh shell, with empty stdin, and waits
	// for it or for its time limit. What the command does, its exit code and
	// a timeout included, is in the Output; an error is a *fault.Error,
	// [ErrDestroyed] or the cancellation of ctx and ends the run.
	Execute(ctx context.Context, command string) (Output, error)

	// Vars are the template variables that describe the environment.
	Vars() map[string]any
}

// Output is what a command did.
type Output struct {
	Bytes    []byte        // stdout and stderr merged in order, exact, possibly capped
	Total    int64         // bytes written before capping
	ExitCode int           // -1 when TimedOut
	TimedOut bool          // the process tree was killed at Timeout
	Timeout  time.Duration // the limit that applied
	Duration time.Duration

	// Note says what else befell the environment, for the model to read as
	// exception_info; empty for nothing.
	Note string

	// Shown is how the model was shown it, of an output of an [Unfinished] step
	// of which less is kept than there was; else empty.
	Shown string
}
