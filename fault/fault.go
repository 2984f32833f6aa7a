// Package fault names who is to blame when something fails.
//
// An agent that gives up, runs out of its own limit or submits nonsense is a
// result, not a fault. Everything else that stops an instance or a run is an
// [Error] with a [Kind], set where the fact is known and read with [KindOf],
// which unwraps. Cancellation stays context.Canceled and has no kind.
//
// # Kinds of faults
//
// The kind says who is to blame. It is blame in results.parquet, grades.jsonl and the lines
// of --json, and each has the exit status beside it. No kind counts against the model: the
// instance has no result, and the next run or batch resume takes it up again.
//
//	usage      UsageFault      what you gave: flags, configuration, dataset, a
//	                           template that does not render. It stops the run:
//	                           no instance starts any more, the running ones
//	                           finish
//	instance   InstanceFault   this row or its image: another commit, a missing
//	                           image, a request that the provider refuses. The
//	                           other instances continue
//	transient  TransientFault  may go away by itself: the network, an overloaded
//	                           provider or engine. A failed model call is tried
//	                           again first
//	host       HostFault       every instance would fail: the engine is gone,
//	                           the disk full, the key refused. It stops the run,
//	                           as usage does
//	bug        Bug             a defect of batch: please report it
//	unknown    UnknownFault    an error that batch could not classify
//	expired    ExpiredFault    the credentials that came with a turn have
//	                           expired (batch serve, or a program with package
//	                           session)
//
// Within a run, a transient fault is tried twice more, after a pause; the others are not.
// --retry KIND=N changes that for transient, instance, bug, unknown and expired, and also
// takes an outcome or an exit status. While the Docker engine does not answer, instances wait
// for it; such a wait is not counted as a retry.
package fault

import (
	"context"
	"errors"
	"fmt"

	"batch.example/batch/vocab"
)

// Kind says who is to blame for a failure, and so what may be done about it.
type Kind int

const (
	// Unknown is an error that was not classified: recorded, never retried.
	Unknown Kind = iota
	// Usage is the caller's input: flags, config, dataset. Nothing was started.
	Usage
	// Instance is this row or this image. Other instances continue; a retry cannot help.
	Instance
	// Transient may go away by itself: retry with back-off, then record.
	Transient
	// Host means nothing can succeed (engine gone, disk full, key refused):
	// stop admitting instances, let the running ones finish.
	Host
	// Bug is a defect of batch: a recovered panic or a broken invariant.
	Bug
	// Expired means that the credentials that came with a turn have expired or are refused:
	// the turn can be tried again with fresh ones.
	Expired
)

var kindNames = [...]string{"unknown", "usage", "instance", "transient", "host", "bug", "expired"}

// String returns the lower-case name used in records and tables.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Status returns the exit status that a trajectory carries for a run that
// ended by a fault of this kind, such as "TransientFault".
func (k Kind) Status() vocab.Status {
	switch k {
	case Usage:
		return vocab.StatusUsageFault
	case Instance:
		return vocab.StatusInstanceFault
	case Transient:
		return vocab.StatusTransientFault
	case Host:
		return vocab.StatusHostFault
	case Bug:
		return vocab.StatusBug
	case Expired:
		return vocab.StatusExpiredFault
	default:
		return vocab.StatusUnknownFault
	}
}

// Error is a failure with blame and, where the user can act, advice.
type Error struct {
	Op   string // what was being done: gerund and object, "pulling image x"
	Kind Kind
	Hint string // what the user can do about it; may be empty
	Err  error  // the cause; may be nil when Op says it all
}

// Error returns "op: cause" without the hint; printing the hint is the caller's choice.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Op
	}
	if e.Op == "" {
		return e.Err.Error()
	}
	return e.Op + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns a fault with the text op and the cause err, which may be nil.
func New(kind Kind, op string, err error) *Error {
	return &Error{Op: op, Kind: kind, Err: err}
}

// Newf returns a fault with a formatted text; %w wraps a cause.
func Newf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// WithHint sets the advice and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// KindOf returns the kind of the outermost fault in err's chain that has one.
// Cancellation and nil have kind Unknown; [Canceled] detects cancellation.
func KindOf(err error) Kind {
	for err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return Unknown
		}
		if e.Kind != Unknown {
			return e.Kind
		}
		err = e.Err
	}
	return Unknown
}

// HintOf returns the outermost non-empty hint in err's chain.
func HintOf(err error) string {
	for err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}

// Canceled reports whether err means that the work was canceled, which is not a
// failure and leaves an instance pending. A fault that wraps a canceled call (a
// timeout inside a client) is not Canceled unless its kind is Unknown.
func Canceled(err error) bool {
	return errors.Is(err, context.Canceled) && KindOf(err) == Unknown
}
