package limit

import (
	"fmt"
	"math/rand/v2"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 5 * time.Second
)

// refusals is the state of a key that refuses requests: first a pause, then a single request.
type refusals struct {
	until time.Time // end of the pause

	since   time.Time // the first refusal after the last answer; zero if there is none
	last    error
	pausing bool      // until the single request was not refused
	began   time.Time // the beginning of the first of these pauses
	reacted time.Time // time of the last refusal that counted
	pause   time.Duration
	probe   time.Time     // when the single request was sent; zero before
	lag     time.Duration // almost all refusals come faster
}

// add reports whether the refusal of a request sent at sent is the first of a series. A request that was
// already on its way at the previous refusal tells nothing new.
func (r *refusals) add(now, sent time.Time, limited *llm.RateLimited) (first bool) {
	if r.since.IsZero() {
		r.since = now
	}
	r.last = limited.Err
	r.lag = max(now.Sub(sent), r.lag-r.lag/100, shortestPause) // not the mean: a slow refusal would look like an answer that is still on its way
	r.extend(now, limited.After)
	if !sent.After(r.reacted) {
		return false
	}
	first = !r.pausing
	if first {
		r.pausing, r.began = true, now
		r.pause = max(shortestPause, r.pause/2)
	} else {
		r.pause = min(r.pause*3/2, max(longestPause, now.Sub(r.began)/8))
	}
	r.reacted, r.probe = now, time.Time{}
	r.extend(now, r.pause) // a server may ask for too short a wait again and again
	return first
}

// extend pauses for d and up to a tenth more, because other processes may wait too.
func (r *refusals) extend(now time.Time, d time.Duration) {
	if d <= 0 {
		return
	}
	if end := now.Add(min(d, forever/2)); end.After(r.until) {
		r.until = end.Add(min(rand.N(d/10+1), time.Second))
	}
}

// wait returns how long nothing may be sent.
func (r *refusals) wait(now time.Time) time.Duration {
	wait := r.until.Sub(now)
	if !r.pausing || r.probe.IsZero() {
		return wait
	}
	clear := r.probe.Add(min(2*r.lag, 10*time.Second)).Sub(now)
	r.pausing = clear > 0
	return max(wait, clear)
}

func (r *refusals) sent(now time.Time) {
	if r.pausing && r.probe.IsZero() {
		r.probe = now
	}
}

// answered ends the pauses if the request was sent after they began.
func (r *refusals) answered(sent time.Time) {
	r.since = time.Time{}
	if !r.probe.IsZero() && !sent.Before(r.probe) {
		r.pausing = false
	}
}

// patience returns how much longer a call that waits since then may wait.
func (r *refusals) patience(now, since time.Time) time.Duration {
	if r.since.IsZero() {
		return forever
	}
	if since.Before(r.since) {
		since = r.since
	}
	return since.Add(Patience).Sub(now)
}

// hopeless returns the fault of a call that will not be admitted in time.
func (r *refusals) hopeless(now, since time.Time) error {
	switch pause := r.until.Sub(now); {
	case pause > Patience:
		return r.fault(fmt.Sprintf("the provider asks for a pause of %v", pause.Round(time.Second)))
	case r.patience(now, since) <= 0:
		return r.fault(fmt.Sprintf("the provider has refused every request with this key for %v", now.Sub(r.since).Round(time.Second)))
	}
	return nil
}

// above returns the fault of a call that alone is above the limit. The others go on.
func (r *refusals) above(t *llm.Ticket) error {
	return fault.New(fault.Instance, fmt.Sprintf("a request of about %d tokens was refused %d times", t.Tokens, t.Refused),
		fmt.Errorf("%w: %w", llm.ErrAccountLimit, r.last)).WithHint("%s", llm.AccountHint)
}

func (r *refusals) fault(text string) error {
	return fault.New(fault.Host, text, r.last).
		WithHint("check the account's limits and the other users of the key, then resume the run")
}
