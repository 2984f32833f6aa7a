package llm

import (
	"context"
	"time"
)

// Gate admits the tries of all calls that share a limit, such as all calls with one key of a provider. It
// decides when a try that hit the limit is repeated, and when to give up. Implementations are safe for
// concurrent use.
type Gate interface {
	// Enter waits until a try of t's call may be sent. An error is a *fault.Error, or the cancellation of
	// ctx; then nothing was admitted.
	Enter(ctx context.Context, t *Ticket) (Pass, error)
}

// Ticket belongs to one call and is passed to each of its tries, so that a refused try does not queue behind
// later calls. A new call has a new ticket, with only Tokens set.
type Ticket struct {
	Tokens  int64         // estimated tokens of input; 0 if unknown
	Refused int           // tries that hit the provider's rate limit
	Wait    time.Duration // estimated wait before the next try; set by [Pass.Done] after the limit was hit
	Place   any           // the gate's own data
}

// Pass is an admitted try. Done must be called exactly once, after the try has ended, with the results of
// [Model].
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
	Remaining int64         // that may still be used now
	Reset     time.Duration // until Remaining is Limit again; 0 if unknown
}
