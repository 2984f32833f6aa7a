package docker

import (
	"errors"
	"fmt"

	"batch.example/batch/fault"
)

// ErrDestroyed is in the chain of the fault of a container in which commands ran
// and cannot run any more, by what ran in it: their shell is not there any more, say. Neither the
// engine nor somebody else is the cause, and another container comes to the same
// state when the same is done in it. The fault is an Instance fault.
var ErrDestroyed = errors.New("what ran in the container has made it unusable")

// destroyed is an error that is ErrDestroyed without saying so.
type destroyed struct{ error }

// Is makes errors.Is(err, ErrDestroyed) true.
func (destroyed) Is(target error) bool { return target == ErrDestroyed }

// Unwrap returns the cause.
func (d destroyed) Unwrap() error { return d.error }

// ruin says whose doing it is that no more commands can be run in a container in which
// they could be before, which an Instance fault f tells: what ran in it, when the
// engine was there all the time.
func (c *Container) ruin(f error) error {
	if c.engineLost() {
		return fault.New(fault.Transient, "", fmt.Errorf("%w: no command can be started after it: %w", ErrOutage, f))
	}
	if e, ok := errors.AsType[*fault.Error](f); ok { // whose hint is about the image
		f = &fault.Error{Op: e.Op, Kind: e.Kind, Err: e.Err}
	}
	return destroyed{f}
}

// engineLost reports whether the engine was lost since the last sign of life.
func (c *Container) engineLost() bool { return c.engine.health.lost() != int(c.born.Load()) }
