package box

import (
	"errors"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// destroyed is an error that is vocab.ErrDestroyed; its text stays the same.
type destroyed struct{ error }

// Is makes errors.Is(err, vocab.ErrDestroyed) true.
func (destroyed) Is(target error) bool { return target == vocab.ErrDestroyed }

// Unwrap returns the cause.
func (d destroyed) Unwrap() error { return d.error }

// Destroyed makes f, the Instance fault of a container that can no longer run commands, a
// [vocab.ErrDestroyed], for a [Carrier] that knows that the container's own commands did it.
func Destroyed(f error) error {
	if e, ok := errors.AsType[*fault.Error](f); ok { // without its hint, which is about the image
		f = &fault.Error{Op: e.Op, Kind: e.Kind, Err: e.Err}
	}
	return destroyed{f}
}
