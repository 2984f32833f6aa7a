package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"

	"batch.example/batch/fault"
)

// NoSpaceHint says what to do about a full disk.
const NoSpaceHint = "free disk space where the engine keeps its data (docker system df shows what uses it)"

// Blame turns an engine error into a fault. It returns a cancellation unchanged, and
// also an error that is a fault already. Losing the engine is [ErrOutage]. An error that
// no rule matches gets the kind otherwise.
func Blame(err error, otherwise fault.Kind, op string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if fault.KindOf(err) != fault.Unknown {
		return err
	}
	text := strings.ToLower(err.Error())
	switch {
	case IsLost(err):
		return fault.New(fault.Transient, op, fmt.Errorf("%w: %w", ErrOutage, err)).
			WithHint("check that the engine is still running: docker info")
	case strings.Contains(text, "no space left on device"):
		return fault.New(fault.Host, op, WithErrno(err)).WithHint(NoSpaceHint)
	case Unanswered(err):
		return fault.New(fault.Transient, op, err).WithHint("check why the engine is busy, or restart it; docker info shows whether it answers")
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Transient, op, errors.New("the engine did not answer in time"))
	case errdefs.IsInternal(err) || errdefs.IsUnavailable(err):
		return fault.New(max(otherwise, fault.Transient), op, err)
	}
	return fault.New(otherwise, op, err)
}

// noSpace is the error of a full disk, which the engine reports as text.
type noSpace struct{ error }

// Is makes errors.Is(err, syscall.ENOSPC) true.
func (noSpace) Is(target error) bool { return target == syscall.ENOSPC }

// WithErrno lets a full disk be recognized by errors.Is with syscall.ENOSPC.
func WithErrno(err error) error {
	if strings.Contains(strings.ToLower(err.Error()), "no space left on device") {
		return noSpace{err}
	}
	return err
}
