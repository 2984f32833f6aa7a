package llm

import (
	"errors"
	"time"
)

// Causes of Instance faults that belong to one conversation: a retry with the same messages cannot help, and
// other conversations are not affected. All but ErrAccountLimit are results of the model, not of the run.
var (
	// ErrContextLength says that the conversation no longer fits into the
	// model's context.
	ErrContextLength = errors.New("the conversation is longer than the model's context")
	// ErrAccountLimit says that one request exceeds what the account may send in a minute, so that waiting
	// does not help.
	ErrAccountLimit = errors.New("the request alone is above the account's limit of tokens per minute")
	// ErrContentPolicy says that the provider refuses the conversation's content:
	// moderation, a content filter, a usage policy.
	ErrContentPolicy = errors.New("the provider's content policy refuses the conversation")
)

// AccountHint tells a person how to avoid [ErrAccountLimit].
const AccountHint = "raise the limit of the account, or keep conversations below it with agent.context_policy and agent.context_limit"

// TooLong reports whether a shorter conversation may be accepted after err.
func TooLong(err error) bool {
	return errors.Is(err, ErrContextLength) || errors.Is(err, ErrAccountLimit)
}

// Unclear is in the chain of an Instance fault whose message is not known, and whose status may also mean
// that the conversation is too long.
type Unclear struct {
	Answer int64 // tokens that the request sets aside for the answer; 0 if it does not say
	Err    error
}

// Error returns the cause.
func (u *Unclear) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unclear) Unwrap() error { return u.Err }

// Unpaid wraps the failure of a call that was not charged, because the provider refused or never received it.
// A call with any other failure may have been charged without an answer.
type Unpaid struct{ Err error }

// Error returns the cause.
func (e *Unpaid) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Unpaid) Unwrap() error { return e.Err }

// tried wraps the failure of several tries of a call.
type tried struct {
	lost            int           // tries that may have been charged
	waited, limited time.Duration // before the last one, see Response
	err             error
}

func (e *tried) Error() string { return e.err.Error() }

func (e *tried) Unwrap() error { return e.err }

// Waited returns how long a failed call waited between its tries, like [Response] for an answered call.
func Waited(err error) (all, limited time.Duration) {
	if t, ok := errors.AsType[*tried](err); ok {
		return t.waited, t.limited
	}
	return 0, 0
}

// Lost returns how many tries behind err, the error of a [Model], may have been
// charged although no answer came.
func Lost(err error) int {
	if err == nil {
		return 0
	}
	if several, ok := errors.AsType[*tried](err); ok {
		return several.lost
	}
	if _, free := errors.AsType[*Unpaid](err); free {
		return 0
	}
	return 1
}
