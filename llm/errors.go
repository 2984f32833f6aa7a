package llm

import "errors"

// These stand in the chain of an Instance fault that the conversation itself
// has caused: asking again with the same messages cannot help, and another
// conversation is not concerned. They say something about the model, not about
// the run.
var (
	// ErrContextLength says that the conversation no longer fits into the
	// model's context.
	ErrContextLength = errors.New("the conversation is longer than the model's context")
	// ErrContentPolicy says that the provider refuses the conversation for what
	// is in it: moderation, a content filter, a usage policy.
	ErrContentPolicy = errors.New("the provider's content policy refuses the conversation")
)

// Unpaid wraps the failure of a call that was not charged: the provider refused it,
// or it never got there. Of any other failure that is not known: it may have been
// charged although no answer came.
type Unpaid struct{ Err error }

// Error returns the cause.
func (e *Unpaid) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Unpaid) Unwrap() error { return e.Err }

// lost wraps the failure of several calls, of which n may have been charged.
type lost struct {
	n   int
	err error
}

func (e *lost) Error() string { return e.err.Error() }

func (e *lost) Unwrap() error { return e.err }

// Lost returns how many calls behind err, what a [Model] returned, may have been
// charged although no answer came.
func Lost(err error) int {
	if err == nil {
		return 0
	}
	if several, ok := errors.AsType[*lost](err); ok {
		return several.n
	}
	if _, free := errors.AsType[*Unpaid](err); free {
		return 0
	}
	return 1
}
