package limit

import (
	"cmp"
	"time"

	"batch.example/batch/llm"
)

const (
	// headroom keeps the pace below a limit, because clocks and networks are not exact.
	headroom = 0.99
	// slack is how late a timer may be without lowering the pace.
	slack = 25 * time.Millisecond
)

// pace spreads requests evenly over the minute of a known limit.
type pace struct {
	given, reported int64     // limits per minute; 0 if unknown
	last            time.Time // when the last request was due
}

// interval returns the time between two requests; 0 for no limit.
func (p *pace) interval() time.Duration {
	limit := least(p.given, p.reported)
	if limit == 0 {
		return 0
	}
	return time.Duration(float64(time.Minute) / (float64(limit) * headroom))
}

func (p *pace) wait(now time.Time) time.Duration {
	if p.last.IsZero() {
		return 0
	}
	return p.last.Add(p.interval()).Sub(now)
}

func (p *pace) sent(now time.Time) {
	p.last = p.last.Add(p.interval())
	if late := now.Add(-slack); p.last.Before(late) {
		p.last = late
	}
}

func (p *pace) observe(w llm.Window) {
	if w.Limit > 0 {
		p.reported = w.Limit
	}
}

// size spreads tokens over time. A request is admitted when the earlier ones have been paid for at the
// limit's rate, whatever its own size is: one that is larger than the limit is sent too, and the provider
// decides.
type size struct {
	given, reported int64         // limits per minute; 0 if unknown
	debt            time.Duration // time that the limit needs, from paid on, to pay for the requests so far
	paid            time.Time
	ratio           float64 // counted tokens per estimated token; 0 if unknown

	accepted int64     // estimate of the last accepted call
	at       time.Time // when that call was sent
}

func (s *size) rate() float64 { return float64(least(s.given, s.reported)) / 60 * headroom }

func (s *size) wait(now time.Time) time.Duration {
	s.settle(now)
	return s.debt
}

// settle reduces the debt by the time that has passed.
func (s *size) settle(now time.Time) {
	s.debt = max(0, s.debt-now.Sub(s.paid))
	s.paid = now
}

// expected returns the tokens that a request is expected to take.
func (s *size) expected(estimated int64) float64 {
	return float64(estimated) * cmp.Or(s.ratio, 1)
}

// room is how much larger than the limit an estimate must be to prove anything.
const room = 1.2

// above reports whether a call's refusals show that waiting does not help: the call alone is above the limit
// that the provider reports, and either no other try was in flight or a smaller call was accepted meanwhile.
// The length of the answer is not known before, so that the ratio can only lower the estimate.
func (s *size) above(estimated int64, p *place) bool {
	if least := min(float64(estimated), s.expected(estimated)); s.reported <= 0 || estimated <= 0 || least < room*float64(s.reported) {
		return false
	}
	return p.alone || !s.at.Before(p.refused) && s.accepted < estimated
}

// sent counts a request, and returns its expected tokens.
func (s *size) sent(now time.Time, estimated int64) float64 {
	tokens := s.expected(estimated)
	s.settle(now)
	s.owe(tokens)
	return tokens
}

// owe adds tokens to the debt, which never exceeds a minute's tokens.
func (s *size) owe(tokens float64) {
	if rate := s.rate(); rate > 0 {
		s.debt = time.Duration(max(0, min(float64(time.Minute), float64(s.debt)+tokens/rate*float64(time.Second))))
	}
}

// used replaces a request's expected tokens by the counted ones. Estimated is 0 if the ratio cannot be
// learned from it.
func (s *size) used(expected float64, estimated int64, tokens float64) {
	const weight = 0.1 // weight of a new value in the mean
	if tokens > 0 && estimated > 0 {
		ratio := tokens / float64(estimated)
		s.ratio = cmp.Or(s.ratio, ratio)
		s.ratio += weight * (ratio - s.ratio)
	}
	s.owe(tokens - expected)
}

func (s *size) observe(w llm.Window) {
	if w.Limit > 0 {
		s.reported = w.Limit
	}
}

const (
	// firstWidth is the number of concurrent calls before anything is known of a key. Each answer allows one
	// more, so that the width doubles in the time of a call.
	firstWidth = 8
	// leastWidth lets a call pass one that takes long.
	leastWidth = 2
	// shrink is the fraction of the width that remains after a refusal, and fastShrink the one during fast
	// growth.
	shrink, fastShrink = 0.8, 0.5
	// growth is the increase of the width in the time of a call.
	growth = 0.5
	// calm is the time without a refusal after which fast growth starts again.
	calm = 30 * time.Second
)

// width bounds the calls in flight: it grows a little with each answer and shrinks with each refusal.
type width struct {
	most    float64   // 0 is no limit
	refused time.Time // the last one; zero before the first
}

// free removes the bound for a key with a known limit that no refusal has contradicted.
func (w *width) free() {
	if w.refused.IsZero() {
		w.most = 0
	}
}

func (w *width) full(inFlight int) bool { return w.most > 0 && inFlight >= int(w.most) }

func (w *width) fast(now time.Time) bool { return now.Sub(w.refused) > calm }

// grow reacts to an answer while calls wait.
func (w *width) grow(now time.Time) {
	switch {
	case w.most == 0:
	case w.fast(now):
		w.most++
	default:
		w.most += growth / w.most
	}
}

// shrink reacts to a refusal while inFlight other calls are in flight.
func (w *width) shrink(now time.Time, inFlight int) {
	used, part := float64(inFlight+1), shrink
	if w.most > 0 {
		used = min(used, w.most)
	}
	if w.fast(now) {
		part = fastShrink
	}
	w.most = max(leastWidth, part*used)
}
