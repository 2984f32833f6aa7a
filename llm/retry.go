package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/retry"
)

// Defaults of a [RetryPolicy]: nine waits of about four minutes in total.
const (
	DefaultTries = 10
	DefaultBase  = time.Second
	DefaultMax   = time.Minute
)

// maxAfterFactor bounds how long a provider may ask us to wait, in units of
// RetryPolicy.Max. A longer wait (for a daily quota, for example) ends the tries.
const maxAfterFactor = 10

// RateLimited says that a provider limits the rate of calls, and when it accepts the next one. It is in the
// chain of a Transient fault; retries and a [Gate] wait at least that long.
type RateLimited struct {
	After time.Duration // 0 if the provider does not say
	Rate  *Rate         // the limits that it reports; nil if none
	Err   error         // the provider's error
}

// Error returns the cause and the time asked for.
func (e *RateLimited) Error() string {
	if e.After <= 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v (retry after %v)", e.Err, e.After)
}

// Unwrap returns the cause.
func (e *RateLimited) Unwrap() error { return e.Err }

// Lasting is in the chain of a Transient fault that may never go away: no server is at the address, the
// answer does not follow the protocol, or the reply's end is not a known one. After three with the same hint,
// without a failure of another kind between them, a call ends: with Reply if there is one, otherwise with a
// Host fault.
type Lasting struct {
	Err   error
	Hint  string    // hint of the Host fault
	Reply *Response // the reply to pass on in the end, because the model may be to blame too; nil: none
}

// Error returns the cause.
func (l *Lasting) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l *Lasting) Unwrap() error { return l.Err }

const maxLasting = 3

// RetryPolicy says how often a call with a Transient fault is retried, and how long the waits are. The zero
// value is the default policy.
//
// The waits have full jitter: each is uniform between a tenth of its mean and twice that mean, which grows
// exponentially, so that workers do not retry at the same time and a failing server gets a pause before every
// retry. A [RateLimited] wait is the minimum, to which up to a tenth is added; one longer than ten times Max
// ends the tries at once. All other errors are returned unchanged. The time before the answered try is added
// to Response.Waited. Each retried failure is one line in [Calls.Log] and is passed to Request.Repeating,
// with the secrets of [Calls.Mask] hidden.
//
// [Calls.Gate] changes this for rate limits: every try passes the gate, which decides when a try that hit a
// limit is repeated. Such a try does not count against Tries; the gate ends a call that has no chance. Waits
// in the gate count as waits for a rate limit.
type RetryPolicy struct {
	Tries int           // tries in total, 0 = DefaultTries, 1 = no retry
	Base  time.Duration // mean of the first wait, 0 = DefaultBase; each is twice the one before
	Max   time.Duration // maximum of the mean wait, 0 = DefaultMax
}

// retry returns a model that retries m's calls.
func (c Calls) retry(m Model, p RetryPolicy) Model {
	p.Tries = max(1, cmp.Or(p.Tries, DefaultTries))
	if p.Base <= 0 {
		p.Base = DefaultBase
	}
	if p.Max <= 0 {
		p.Max = DefaultMax
	}
	p.Max = max(p.Base, p.Max)
	r := &retrier{model: m, policy: p, log: c.Log, mask: c.Mask, gate: c.Gate}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	return r
}

type retrier struct {
	model  Model
	policy RetryPolicy
	log    *slog.Logger
	mask   *mask.Masker
	gate   Gate // nil: none
}

// Generate implements [Model].
func (r *retrier) Generate(ctx context.Context, req *Request) (*Response, error) {
	waits := retry.Policy{ // from a tenth of the mean to twice the mean
		First: r.policy.Base * 21 / 20, Longest: r.policy.Max * 21 / 20, Jitter: 19. / 21, Tries: r.policy.Tries,
	}
	c := call{retrier: r, req: req, ticket: Ticket{Tokens: req.Tokens}, tries: waits.Start()}
	for {
		resp, err := c.try(ctx)
		if err == nil {
			return c.answered(resp), nil
		}
		if reply := c.lasts(&err); reply != nil {
			return c.answered(reply), nil
		}
		if err = c.next(ctx, err); err != nil {
			return nil, c.failed(err)
		}
	}
}

// call is one call in the making.
type call struct {
	*retrier
	req     *Request
	ticket  Ticket
	started time.Time
	began   time.Time      // when the last try began; zero if it was not admitted
	tries   *retry.Tries   // counted ones
	lasting map[string]int // [Lasting] failures in a row, by their hints
	sum     tried
}

// try makes one try. The time before it begins counts as a wait.
func (c *call) try(ctx context.Context) (resp *Response, err error) {
	arrived := time.Now()
	if c.started.IsZero() {
		c.started = arrived
	}
	c.began = time.Time{}
	ready := arrived
	if again := c.tries.Failed+c.ticket.Refused > 0; again && c.req.Trying != nil {
		if err := c.req.Trying(); err != nil {
			return nil, err
		}
		ready = time.Now()
	}
	if c.gate == nil {
		c.sum.waited, c.began = ready.Sub(c.started), ready
		return c.model.Generate(ctx, c.req)
	}
	pass, err := c.gate.Enter(ctx, &c.ticket)
	now := time.Now()
	c.sum.waited = now.Sub(c.started)
	c.sum.limited += now.Sub(ready)
	if err != nil {
		return nil, err
	}
	c.began = now
	defer func() { pass.Done(resp, err) }() // also of a model that panics
	return c.model.Generate(ctx, c.req)
}

// next waits before the next try, unless the gate does. An error ends the call.
func (c *call) next(ctx context.Context, err error) error {
	if c.began.IsZero() { // nothing was sent
		return stopped(ctx, err)
	}
	c.sum.lost += Lost(err)
	if fault.KindOf(err) != fault.Transient {
		return err
	}
	limited, isLimited := errors.AsType[*RateLimited](err)
	gated := isLimited && c.gate != nil
	next, again := Repeat{RateLimited: isLimited, Unpaid: Lost(err) == 0, Reason: c.shortReason(err)}, true
	if gated {
		c.ticket.Refused++
		next.Wait = c.ticket.Wait
	} else {
		next.Wait, again = c.wait(limited)
	}
	next.Try, next.Tries = c.tries.Failed+c.ticket.Refused+1, c.policy.Tries+c.ticket.Refused
	switch {
	case ctx.Err() != nil:
		c.rest(isLimited)
		return stopped(ctx, err)
	case !again:
		return c.givenUp(err)
	}
	c.repeating(c.req, next, err)
	if gated {
		c.sum.limited += time.Since(c.began)
		return nil
	}
	_ = retry.Sleep(ctx, next.Wait)
	c.rest(isLimited)
	return stopped(ctx, nil)
}

// rest counts a failed try and the wait after it as waiting.
func (c *call) rest(limited bool) {
	c.sum.waited = time.Since(c.started)
	if limited {
		c.sum.limited += time.Since(c.began)
	}
}

// stopped returns the cancellation of ctx, if there is one, and err otherwise.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("waiting before the next try of a model call: %w", ctx.Err())
	}
	return err
}

// wait returns the wait before the next try, if the gate does not decide it, and whether there is one.
func (c *call) wait(limited *RateLimited) (wait time.Duration, again bool) {
	wait, again = c.tries.Next(0)
	if limited != nil && limited.After > 0 {
		wait, again = limited.After+rand.N(limited.After/10+1), again && limited.After <= maxAfterFactor*c.policy.Max
	}
	return wait, again
}

func (c *call) givenUp(err error) error {
	if total := c.tries.Failed + c.ticket.Refused; total > 1 {
		return fault.New(fault.Transient, fmt.Sprintf("giving up after %d tries", total), err)
	}
	return err
}

func (c *call) answered(resp *Response) *Response {
	resp.Waited += c.sum.waited
	resp.RateLimited += c.sum.limited
	resp.Lost += c.sum.lost
	return resp
}

func (c *call) failed(err error) error {
	if c.sum.waited > 0 || Lost(err) != c.sum.lost {
		c.sum.err = err
		return &c.sum
	}
	return err
}

// Repeat is a call that failed and will be made again.
type Repeat struct {
	Try, Tries  int           // number of the next try, and the maximum, which grows with each try that a [Gate] repeats
	Wait        time.Duration // until the next try; an estimate if a [Gate] decides it
	RateLimited bool          // the call met a rate limit
	Unpaid      bool          // the failed try was not charged
	Reason      string        // why it failed, in short
}

// repeating reports a failure that is retried.
func (r *retrier) repeating(req *Request, next Repeat, err error) {
	r.log.Info("a model call failed and will be made again", "next_try", next.Try, "tries", next.Tries, "wait", short(next.Wait), "err", r.oneLine(err))
	if req.Repeating != nil {
		req.Repeating(next)
	}
}

// shortReason returns the provider's error without the operation and the address.
func (r *retrier) shortReason(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Err != nil {
		err = f.Err
	}
	return r.oneLine(err)
}

// lasts ends a call after the maximum number of [Lasting] failures with the same hint, or of tries: it
// returns the reply to pass on, or makes err a Host fault.
func (c *call) lasts(err *error) *Response {
	cause, ok := errors.AsType[*Lasting](*err)
	if !ok {
		c.lasting = nil
		return nil
	}
	if c.lasting == nil {
		c.lasting = map[string]int{}
	}
	if c.lasting[cause.Hint]++; c.lasting[cause.Hint] < min(maxLasting, c.policy.Tries) {
		return nil
	}
	if cause.Reply == nil {
		*err = fault.New(fault.Host, "", *err).WithHint("%s", cause.Hint)
	}
	return cause.Reply
}

// short rounds a wait for people.
func short(d time.Duration) time.Duration {
	if d >= 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

// maxLogged bounds the length of an error in a log line, in bytes.
const maxLogged = 300

// oneLine hides secrets before it truncates, because half a secret would not be recognized.
func (r *retrier) oneLine(err error) string { return mask.Clip(r.mask.Text(err.Error()), maxLogged) }
