package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"batch.example/batch/fault"
)

// Defaults of a [RetryPolicy]: nine waits of about four minutes in total.
const (
	DefaultTries = 10
	DefaultBase  = time.Second
	DefaultMax   = time.Minute
)

// maxAfterFactor bounds how long a provider may ask us to wait, in units of
// RetryPolicy.Max. A longer demand (a daily quota, say) ends the tries.
const maxAfterFactor = 10

// RateLimited says when a provider is willing to be asked again. It stands in
// the chain of a Transient fault; [Retry] waits at least that long.
type RateLimited struct {
	After time.Duration
	Err   error // what the provider said
}

// Error returns the cause and the time asked for.
func (e *RateLimited) Error() string {
	return fmt.Sprintf("%v (retry after %v)", e.Err, e.After)
}

// Unwrap returns the cause.
func (e *RateLimited) Unwrap() error { return e.Err }

// Astray stands in the chain of a Transient fault that a wrong address would
// explain: nobody is there, or somebody who is no model. Three in a row are enough
// for [Retry], which makes a Host fault of them.
type Astray struct {
	Err  error
	Hint string // of the Host fault
}

// Error returns the cause.
func (a *Astray) Error() string { return a.Err.Error() }

// Unwrap returns the cause.
func (a *Astray) Unwrap() error { return a.Err }

const maxAstray = 3

// RetryPolicy says how often and how patiently a call is repeated. The zero
// value is the default policy.
type RetryPolicy struct {
	Tries int           // calls in all, 0 = DefaultTries, 1 = no retry
	Base  time.Duration // mean of the first wait, 0 = DefaultBase; each is twice the one before
	Max   time.Duration // no mean wait is longer, 0 = DefaultMax
}

// Retry returns a model that repeats m's calls while they fail by a Transient
// fault, with exponential waits spread by half to either side so that workers
// do not come back in step. A [RateLimited] wait is kept at least, and up to a
// tenth is added; one longer than ten times the policy's Max ends the tries
// at once. All other errors are returned as they come. The time before the
// try that was answered is added to Response.Waited. Each failure that is
// repeated is one line in log, which a nil log discards.
func Retry(m Model, p RetryPolicy, log *slog.Logger) Model {
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
	return &retrier{model: m, policy: p, log: log}
}

type retrier struct {
	model  Model
	policy RetryPolicy
	log    *slog.Logger
}

// Generate implements [Model].
func (r *retrier) Generate(ctx context.Context, req *Request) (*Response, error) {
	started := time.Now()
	tries, gone, astray, last := 0, 0, 0, error(nil)
	resp, err := backoff.Retry(ctx, func() (*Response, error) {
		began := time.Now()
		tries++
		resp, err := r.model.Generate(ctx, req)
		if last = err; err != nil {
			gone += Lost(err)
			astray, last = r.lostWay(err, astray)
			return nil, r.verdict(last)
		}
		resp.Waited += began.Sub(started)
		resp.Lost += gone
		return resp, nil
	}, backoff.WithBackOff(r.waits()), backoff.WithMaxTries(uint(r.policy.Tries)),
		backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, wait time.Duration) {
			r.log.Warn(fmt.Sprintf("try %d of %d failed, the next in %v: %s",
				tries, r.policy.Tries, short(wait), oneLine(last)))
		}))
	if err == nil {
		return resp, nil
	}
	if err = r.failure(ctx, tries, last); Lost(err) != gone {
		err = &lost{gone, err}
	}
	return nil, err
}

// lostWay gives up on an endpoint that was never there: astray is how often in a row
// that was so before. With fewer tries allowed, the last one decides.
func (r *retrier) lostWay(err error, astray int) (int, error) {
	cause, ok := errors.AsType[*Astray](err)
	if !ok {
		return 0, err
	}
	if astray++; astray >= min(maxAstray, r.policy.Tries) {
		err = fault.New(fault.Host, "", err).WithHint("%s", cause.Hint)
	}
	return astray, err
}

// failure is what the caller is told after the last of several tries.
func (r *retrier) failure(ctx context.Context, tries int, last error) error {
	switch transient := fault.KindOf(last) == fault.Transient; {
	case transient && ctx.Err() != nil:
		return fmt.Errorf("waiting to ask the model again: %w", ctx.Err())
	case transient && tries > 1:
		return fault.New(fault.Transient, fmt.Sprintf("giving up after %d tries", tries), last)
	default:
		return last
	}
}

// short rounds a wait to what a person wants to know of it.
func short(d time.Duration) time.Duration {
	if d >= 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

// maxLogged bounds what a log line repeats of an error, in bytes.
const maxLogged = 300

func oneLine(err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	if len(s) > maxLogged {
		s = strings.ToValidUTF8(s[:maxLogged], "") + "..."
	}
	return s
}

func (r *retrier) waits() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = r.policy.Base, r.policy.Max, 2
	return b
}

// verdict tells the back-off loop whether and when to go on.
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
