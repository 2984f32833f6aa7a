package llm

import (
	"context"
	"time"
)

// Gate admits the tries of all calls that share a limit, such as all calls made with one key
// of a provider. It decides when a try that met the limit is made again, and when that is
// hopeless. Implementations are safe for concurrent use.
type Gate interface {
	// Enter waits until a try of the call that t belongs to may be sent. An error is a
	// *fault.Error, or the cancellation of ctx; nothing was admitted then.
	Enter(ctx context.Context, t *Ticket) (Pass, error)
}

// Ticket belongs to one call and is passed to each of its tries, so that a try that was
// refused does not wait behind calls that were made later. A new call has a new one; only
// Tokens is set then.
type Ticket struct {
	Tokens  int64         // estimated tokens of input; 0 if that is not known
	Refused int           // tries that met the provider's rate limit
	Wait    time.Duration // before the next try, about; set by [Pass.Done] of a try that met the limit
	Place   any           // of the gate
}

// Pass is an admitted try. Done must be called exactly once, when the try has ended, with
// what [Model] returned.
type Pass interface {
	Done(resp *Response, err error)
}

// Rate holds the limits of a key, as a provider reports them.
type Rate struct {
	Requests, Tokens Window
}

// Window is one limit. It is unknown if Limit is 0.
type Window struct {
	Limit     int64         // per minute
	Remaining int64         // that may be used at once
	Reset     time.Duration // until Remaining is Limit again; 0 if that is not known
}
