// Package limit shares a provider's rate limit among all calls that are made with one key.
//
// A [Limiter] is an [llm.Gate]. It promises:
//
//   - Calls are admitted in the order in which they were made. A refused call keeps its place, and so
//     does one with an estimate above the limit, so that no instance starves. A canceled call frees its
//     place.
//   - If the limit is known, from the configuration or from the provider's headers, tries are spread
//     evenly over the minute, one percent below the limit. It then does not matter whether the provider
//     counts in windows or in buckets of any size.
//   - If the limit is unknown, or a known one turns out to be shared with others, the number of
//     concurrent calls follows the refusals: it doubles until the first one, then grows a little with
//     each answer and shrinks with each refusal, and doubles again after half a minute without a
//     refusal. It so uses a limit of concurrent calls, or of calls per minute, to within 15 percent. If
//     8 calls or more fit at once, at most one in twenty tries is refused. Only pauses meet a limit
//     that one or two concurrent calls reach: half of all tries or more are refused until the limit is
//     configured.
//   - A refusal pauses the key for as long as the provider asks. Then one try goes first, and the
//     others follow if it was not refused. If the provider does not say how long, consecutive pauses
//     grow by half, up to five seconds or an eighth of the outage.
//   - Refusals of tries that were already on their way count once.
//
// A call that the provider refuses a few times, and whose size alone is well above the limit that the
// provider reports, ends with an Instance fault, and the others go on.
//
// A call ends with a Host fault, which stops the run, if it has waited for [Patience] while the
// provider refused all requests of its key, or at once if the provider asks for a longer pause: the
// instances that have not begun would all end in the same way.
//
// Several processes may use one key: each treats the others as an unknown limit.
//
// Its API is not promised to other programs: see package batch.
package limit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// Patience is how long a call waits while the provider refuses all requests of its key.
const Patience = 15 * time.Minute

// Limits bound the use of a key in a minute. Zero means unknown.
type Limits struct{ Requests, Tokens int64 }

// Limiter implements [llm.Gate] for one key. It is safe for concurrent use.
type Limiter struct {
	freeCache bool // tokens read from the provider's cache do not count

	mu       sync.Mutex
	queue    queue
	calls    uint64 // calls so far
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

// Restrict adds limits that are known from another source. The lowest limits apply.
func (l *Limiter) Restrict(known Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace.given = least(l.pace.given, known.Requests)
	l.size.given = least(l.size.given, known.Tokens)
	l.known()
	l.queue.wake()
}

// known reacts to a changed limit of requests.
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

// hopelessAfter is how often a request above the key's limit is refused before waiting counts as hopeless:
// some providers accept it when their window is empty.
const hopelessAfter = 3

const forever = time.Duration(1<<63 - 1)

// wait returns how long the first call in the queue must wait if nothing else happens.
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

// pass is an admitted try.
type pass struct {
	limiter *Limiter
	ticket  *llm.Ticket
	sent    time.Time
	alone   bool    // no other try was in flight
	tokens  float64 // its expected tokens
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
		if resp.Usage.Input+resp.Usage.Output > 0 { // some servers report no usage
			l.size.used(p.tokens, p.ticket.Tokens, l.count(resp))
		}
		l.size.accepted, l.size.at = p.ticket.Tokens, p.sent
		l.accepted(now, p)
	case fault.KindOf(err) == fault.Instance: // refused for its content
		l.size.used(p.tokens, 0, 0)
		l.accepted(now, p)
	}
}

// count returns the tokens of a call that count against the limit.
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

// place is a call's place in the queue. The call keeps it for all its tries.
type place struct {
	number uint64
	since  time.Time

	refused time.Time // time of the first refusal; zero before
	alone   bool      // no other try was in flight at its last refusal

	woken chan struct{} // nil until the call has to wait
}

// queue holds the waiting calls, the oldest first.
type queue []*place

func (q queue) find(p *place) int {
	i, _ := slices.BinarySearchFunc(q, p, func(a, b *place) int { return cmp.Compare(a.number, b.number) })
	return i
}

func (q *queue) add(p *place) { *q = slices.Insert(*q, q.find(p), p) }

func (q *queue) remove(p *place) {
	i := q.find(p)
	*q = slices.Delete(*q, i, i+1)
}

// wake wakes the first call, which alone waits for a point in time, to check whether it may go.
func (q *queue) wake() {
	if len(*q) == 0 || (*q)[0].woken == nil {
		return
	}
	select {
	case (*q)[0].woken <- struct{}{}:
	default:
	}
}

// Pool holds the limiters of all keys of a process, so that runs with the same key share its limit. The zero
// value is ready to use. It is safe for concurrent use.
type Pool struct {
	mu       sync.Mutex
	limiters map[[sha256.Size]byte]*Limiter
}

// For returns the limiter of a provider's key at an address, the same one each time. The key itself is not
// kept. [Limiter.Restrict] adds known limits.
func (p *Pool) For(provider, address, key string) *Limiter {
	h := sha256.New()
	for _, part := range []string{provider, strings.TrimRight(address, "/"), key} {
		_, _ = h.Write([]byte(strconv.Itoa(len(part)) + " " + part))
	}
	id := [sha256.Size]byte(h.Sum(nil))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limiters == nil {
		p.limiters = map[[sha256.Size]byte]*Limiter{}
	}
	l := p.limiters[id]
	if l == nil {
		if len(p.limiters) >= mostKept {
			maps.DeleteFunc(p.limiters, func(_ [sha256.Size]byte, l *Limiter) bool { return l.idle() })
		}
		l = New(Limits{})
		l.freeCache = freeCache[provider]
		p.limiters[id] = l
	}
	return l
}

// mostKept is the number of limiters that are kept before unused ones are forgotten: turns may bring any
// number of keys.
const mostKept = 4096

// idle reports whether no call is in flight or waits.
func (l *Limiter) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && len(l.queue) == 0
}

// freeCache lists the providers that do not count tokens read from their cache.
var freeCache = map[string]bool{"anthropic": true}
