// Package limit shares a provider's rate limit among all calls that are made with one key.
//
// A [Limiter] is an [llm.Gate]. It promises:
//
//   - Calls are admitted in the order in which they were made. One that the provider refuses
//     keeps its place, and so does one with an estimate above the limit, so that no
//     instance starves. A call that is canceled frees its place.
//   - Where the limit is known, from the configuration or from the provider's headers, tries are
//     spread evenly over the minute, one percent below the limit, so that it does not matter
//     whether the provider counts in windows or in buckets of any size.
//   - Where it is not, and where a known one turns out to be shared with somebody else, the number
//     of calls at once follows the refusals: it doubles until the first one, then grows a little
//     with each answer and shrinks with each refusal, and doubles again after half a minute
//     without one. So it meets a limit of calls at once, and one of calls in a minute, within 15
//     percent, with at most one refusal in twenty tries where 8 calls or more fit at once. A limit
//     that one or two calls at once reach is met by pauses alone: half of all tries and more are
//     refused until it is given.
//   - A refusal pauses the key for as long as the provider asks. Then one try goes first, and the
//     others when it was not refused. Where the provider does not say how long, pauses in a row
//     grow by half, up to five seconds or an eighth of the outage.
//   - Refusals of tries that were already on their way count once.
//
// A call that the provider refuses a few times, and that alone is well above the limit that the
// provider reports, ends with an Instance fault, and the others go on.
//
// A call ends with a Host fault, so that the run stops, when it has waited for [Patience]
// while its key got nothing but refusals, or at once when the provider asks for a longer
// pause than that: the instances that have not begun would all end in the same way.
//
// Several processes may use one key: each treats the others as a limit that it does not know.
package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// Patience is how long a call waits while its key gets nothing but refusals.
const Patience = 15 * time.Minute

// Limits bound the use of a key in a minute. Zero is not known.
type Limits struct{ Requests, Tokens int64 }

// Limiter implements [llm.Gate] for one key. It is safe for concurrent use.
type Limiter struct {
	freeCache bool // tokens read from the provider's cache do not count

	mu       sync.Mutex
	queue    queue
	calls    uint64 // that have come
	inFlight int
	width    width
	pace     pace
	size     size
	refusals refusals
}

// New returns the limiter of a key with the known limits l.
func New(l Limits) *Limiter {
	g := &Limiter{width: width{most: firstWidth}}
	g.Restrict(l)
	return g
}

// Restrict says what else is known of the key. The lowest limits hold.
func (l *Limiter) Restrict(known Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace.given = least(l.pace.given, known.Requests)
	l.size.given = least(l.size.given, known.Tokens)
	l.known()
	l.queue.wake()
}

// known follows what may have been said of the limit of requests.
func (l *Limiter) known() {
	if l.pace.interval() > 0 {
		l.width.free()
	}
}

// least returns the lower of two limits; 0 means no limit.
func least(a, b int64) int64 {
	if a <= 0 || b > 0 && b < a {
		return max(0, b)
	}
	return a
}

// Enter implements [llm.Gate].
func (l *Limiter) Enter(ctx context.Context, t *llm.Ticket) (llm.Pass, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := t.Place.(*place)
	if !ok {
		l.calls++
		p = &place{number: l.calls, since: time.Now()}
		t.Place = p
	}
	l.queue.add(p)
	defer l.queue.wake()
	defer l.queue.remove(p)
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting for the provider's rate limit: %w", ctx.Err())
		}
		if l.queue[0] != p {
			l.sleep(ctx, p, forever)
			continue
		}
		now := time.Now()
		if err := l.refusals.hopeless(now, p.since); err != nil {
			return nil, err
		}
		if t.Refused >= hopelessAfter && l.size.above(t.Tokens, p) {
			return nil, l.refusals.above(t)
		}
		wait := l.wait(now, p)
		if wait <= 0 {
			return l.admit(now, t), nil
		}
		l.sleep(ctx, p, wait)
	}
}

// hopelessAfter is how often a request that alone is above the key's limit is refused before it counts as
// one that no wait helps: providers may take it when their window is empty.
const hopelessAfter = 3

const forever = time.Duration(1<<63 - 1)

// wait returns how long the first in the queue has to wait, if nothing happens before.
func (l *Limiter) wait(now time.Time, p *place) time.Duration {
	wait := max(l.refusals.wait(now), l.pace.wait(now), l.size.wait(now))
	if l.width.full(l.inFlight) {
		wait = forever
	}
	return min(wait, l.refusals.patience(now, p.since))
}

// sleep waits until p is woken, for at most d.
func (l *Limiter) sleep(ctx context.Context, p *place, d time.Duration) {
	if p.woken == nil {
		p.woken = make(chan struct{}, 1)
	}
	l.mu.Unlock()
	defer l.mu.Lock()
	var rings <-chan time.Time
	if d < forever {
		timer := time.NewTimer(d)
		defer timer.Stop()
		rings = timer.C
	}
	select {
	case <-rings:
	case <-p.woken:
	case <-ctx.Done():
	}
}

func (l *Limiter) admit(now time.Time, t *llm.Ticket) *pass {
	l.inFlight++
	l.pace.sent(now)
	l.refusals.sent(now)
	return &pass{limiter: l, ticket: t, sent: now, alone: l.inFlight == 1, tokens: l.size.sent(now, t.Tokens)}
}

// pass is a try that was admitted.
type pass struct {
	limiter *Limiter
	ticket  *llm.Ticket
	sent    time.Time
	alone   bool    // nothing else was in flight then
	tokens  float64 // that it was admitted with
}

// Done implements [llm.Pass].
func (p *pass) Done(resp *llm.Response, err error) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.queue.wake()
	now := time.Now()
	l.inFlight--
	limited, isLimited := errors.AsType[*llm.RateLimited](err)
	switch {
	case isLimited:
		l.observe(limited.Rate)
		l.refused(now, p, limited)
		p.ticket.Wait = max(0, l.refusals.until.Sub(now))
	case err == nil && resp != nil:
		l.observe(resp.Rate)
		if resp.Usage.Input+resp.Usage.Output > 0 { // some servers do not count
			l.size.used(p.tokens, p.ticket.Tokens, l.count(resp))
		}
		l.size.accepted, l.size.at = p.ticket.Tokens, p.sent
		l.accepted(now, p)
	case fault.KindOf(err) == fault.Instance: // refused for what it says
		l.size.used(p.tokens, 0, 0)
		l.accepted(now, p)
	}
}

// count returns the tokens of a call that the provider counts.
func (l *Limiter) count(resp *llm.Response) float64 {
	n := resp.Usage.Input + resp.Usage.Output
	if l.freeCache {
		n -= min(resp.Usage.Cached, resp.Usage.Input)
	}
	return float64(n)
}

func (l *Limiter) observe(r *llm.Rate) {
	if r == nil {
		return
	}
	l.pace.observe(r.Requests)
	l.size.observe(r.Tokens)
	l.known()
}

func (l *Limiter) accepted(now time.Time, p *pass) {
	l.refusals.answered(p.sent)
	if len(l.queue) > 0 {
		l.width.grow(now)
	}
}

func (l *Limiter) refused(now time.Time, p *pass, limited *llm.RateLimited) {
	at := p.ticket.Place.(*place)
	at.alone = p.alone && l.inFlight == 0
	if at.refused.IsZero() {
		at.refused = now
	}
	l.size.used(p.tokens, 0, 0)
	if l.refusals.add(now, p.sent, limited) {
		l.width.shrink(now, l.inFlight)
	}
	l.width.refused = now
}
