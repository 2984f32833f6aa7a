package llm

import "errors"

// ErrContextLength stands in the chain of an Instance fault when the
// conversation no longer fits into the model's context.
var ErrContextLength = errors.New("the conversation is longer than the model's context")
