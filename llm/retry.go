package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
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

// RateLimited says that a provider limits the rate of calls, and when it accepts the next
// one. It is in the chain of a Transient fault; [Retry] waits at least that long.
type RateLimited struct {
	After time.Duration // 0 if the provider does not say
	Err   error         // what the provider said
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

// WrongAddress is in the chain of a Transient fault that a wrong address would explain:
// there is no server, or its answer is not that of a model. After three in a row [Retry]
// returns a Host fault.
type WrongAddress struct {
	Err  error
	Hint string // of the Host fault
}

// Error returns the cause.
func (a *WrongAddress) Error() string { return a.Err.Error() }

// Unwrap returns the cause.
func (a *WrongAddress) Unwrap() error { return a.Err }

const maxWrong = 3

// RetryPolicy says how often a call is retried, and how long the waits are. The zero
// value is the default policy.
type RetryPolicy struct {
	Tries int           // tries in total, 0 = DefaultTries, 1 = no retry
	Base  time.Duration // mean of the first wait, 0 = DefaultBase; each is twice the one before
	Max   time.Duration // maximum of the mean wait, 0 = DefaultMax
}

// Retry returns a model that retries m's calls while they fail with a Transient
// fault. The waits grow exponentially and are randomized by up to half in both directions,
// so that workers do not retry at the same time. A [RateLimited] wait is the minimum, and
// up to a tenth is added; one longer than ten times the policy's Max ends the tries
// at once. All other errors are returned unchanged. The time before the
// answered try is added to Response.Waited. Each failure that is retried is one line in
// log (nil discards it) and is passed to Request.Repeating, with the secrets of hide hidden.
func Retry(m Model, p RetryPolicy, log *slog.Logger, hide *mask.Masker) Model {
	if p.Tries == 0 {
		p.Tries = DefaultTries
	}
	if p.Base <= 0 {
		p.Base = DefaultBase
	}
	if p.Max <= 0 {
		p.Max = DefaultMax
	}
	p.Tries, p.Max = max(1, p.Tries), max(p.Base, p.Max)
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &retrier{model: m, policy: p, log: log, mask: hide}
}

type retrier struct {
	model  Model
	policy RetryPolicy
	log    *slog.Logger
	mask   *mask.Masker
}

// Generate implements [Model].
func (r *retrier) Generate(ctx context.Context, req *Request) (*Response, error) {
	started := time.Now()
	began := started
	var t tried
	tries, wrong, last := 0, 0, error(nil)
	count := func() { // everything so far, the last try and the wait after it included
		now := time.Now()
		t.waited = now.Sub(started)
		if isRateLimit(last) {
			t.limited += now.Sub(began)
		}
		began = now
	}
	resp, err := backoff.Retry(ctx, func() (*Response, error) {
		if last != nil {
			count()
		}
		tries++
		resp, err := r.model.Generate(ctx, req)
		if last = err; err != nil {
			t.lost += Lost(err)
			wrong, last = r.countWrongAddress(err, wrong)
			return nil, r.verdict(last)
		}
		resp.Waited += t.waited
		resp.RateLimited += t.limited
		resp.Lost += t.lost
		return resp, nil
	}, backoff.WithBackOff(r.waits()), backoff.WithMaxTries(uint(r.policy.Tries)),
		backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(_ error, wait time.Duration) {
			r.repeating(req, Repeat{Try: tries + 1, Tries: r.policy.Tries, Wait: wait, RateLimited: isRateLimit(last), Reason: r.shortReason(last)}, last)
		}))
	if err == nil {
		return resp, nil
	}
	t.err = r.failure(ctx, tries, last)
	if ctx.Err() != nil && fault.KindOf(last) == fault.Transient {
		count() // it was waiting for a try that never came; a try that is cut short has another fault
	}
	if t.waited > 0 || Lost(t.err) != t.lost {
		return nil, &t
	}
	return nil, t.err
}

// Repeat is a call that failed and will be made again.
type Repeat struct {
	Try, Tries  int           // number of the next try, and the maximum
	Wait        time.Duration // until the next try
	RateLimited bool          // the call met a rate limit
	Reason      string        // why it failed, in short
}

// repeating reports a failure that is retried.
func (r *retrier) repeating(req *Request, next Repeat, err error) {
	r.log.Info("a model call failed and will be made again", "next_try", next.Try, "tries", next.Tries, "wait", short(next.Wait), "err", r.oneLine(err))
	if req.Repeating != nil {
		req.Repeating(next)
	}
}

func isRateLimit(err error) bool {
	_, ok := errors.AsType[*RateLimited](err)
	return ok
}

// shortReason returns the provider's error without the operation and the address.
func (r *retrier) shortReason(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Err != nil {
		err = f.Err
	}
	return r.oneLine(err)
}

// countWrongAddress gives up on an address that never answered. wrong is how often in a row
// this happened before. If fewer tries are allowed, the last one decides.
func (r *retrier) countWrongAddress(err error, wrong int) (int, error) {
	cause, ok := errors.AsType[*WrongAddress](err)
	if !ok {
		return 0, err
	}
	if wrong++; wrong >= min(maxWrong, r.policy.Tries) {
		err = fault.New(fault.Host, "", err).WithHint("%s", cause.Hint)
	}
	return wrong, err
}

// failure returns the error after the last of several tries.
func (r *retrier) failure(ctx context.Context, tries int, last error) error {
	switch transient := fault.KindOf(last) == fault.Transient; {
	case transient && ctx.Err() != nil:
		return fmt.Errorf("waiting before the next try of a model call: %w", ctx.Err())
	case transient && tries > 1:
		return fault.New(fault.Transient, fmt.Sprintf("giving up after %d tries", tries), last)
	default:
		return last
	}
}

// short rounds a wait for people.
func short(d time.Duration) time.Duration {
	if d >= 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

// maxLogged is how many bytes of an error a log line has at most.
const maxLogged = 300

// oneLine hides secrets before it shortens: nobody later recognizes a part of one.
func (r *retrier) oneLine(err error) string { return mask.Clip(r.mask.Text(err.Error()), maxLogged) }

func (r *retrier) waits() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = r.policy.Base, r.policy.Max, 2
	return b
}

// verdict decides whether and when the call is made again.
func (r *retrier) verdict(err error) error {
	if fault.KindOf(err) != fault.Transient {
		return backoff.Permanent(err)
	}
	limited, ok := errors.AsType[*RateLimited](err)
	if !ok || limited.After <= 0 {
		return err
	}
	if limited.After > maxAfterFactor*r.policy.Max {
		return backoff.Permanent(err)
	}
	spread := time.Duration(rand.Int64N(int64(limited.After)/10 + 1))
	return &backoff.RetryAfterError{Duration: limited.After + spread}
}
