package limit

import (
	"math"
	"time"

	"batch.example/batch/llm"
)

const (
	// headroom keeps the pace below a limit, for clocks and networks that are not exact.
	headroom = 0.99
	// slack is by how much a timer may be late without a loss.
	slack = 25 * time.Millisecond
	// slowest is the lowest rate that is learned, in requests per second.
	slowest = 0.5 / 60
)

// pace spreads requests over time.
type pace struct {
	given, reported int64   // limits per minute; 0 is not known
	left            float64 // part of the limit that remained at seen
	seen            time.Time

	learned float64   // requests per second; 0 if nothing was learned
	began   time.Time // of the requests that are measured
	last    time.Time // when the last request was due
	minute  minute    // requests since began that were accepted, or may be
	calm    time.Time // the last refusal, or the first request
	sample  sample
	trial   trial
}

// sample is a stretch of requests.
type sample struct {
	began         time.Time
	sent, refused int
	helpless      float64 // part of the requests that were refused before a lower rate, which did not help
}

// limit is the known one per minute; 0 if there is none.
func (p *pace) limit() int64 { return least(p.given, p.reported) }

// scarce is below which part of the limit the pace follows what remains.
const scarce = 0.01

// rate is in requests per second, 0 for no limit.
func (p *pace) rate(now time.Time) float64 {
	rate := float64(p.limit()) / 60 * headroom
	if now.Sub(p.seen) < 10*time.Second {
		rate *= max(0.5, min(1, p.left/scarce))
	}
	if p.learned > 0 && (rate == 0 || p.learned < rate) {
		rate = p.learned
	}
	return rate
}

// interval is the time between two requests; 0 for no limit.
func (p *pace) interval(now time.Time) time.Duration { return every(p.rate(now)) }

func every(rate float64) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / rate)
}

func (p *pace) wait(now time.Time) time.Duration {
	if p.last.IsZero() {
		return 0
	}
	return p.last.Add(every(p.rate(now))).Sub(now)
}

func (p *pace) sent(now time.Time) {
	p.last = p.last.Add(every(p.rate(now)))
	if late := now.Add(-slack); p.last.Before(late) {
		p.last = late
	}
	if p.calm.IsZero() {
		p.last, p.calm, p.trial.began = now, now, now
	}
	p.minute.add(now, 1)
	p.sample.sent++
	p.trial.sent++
}

// alone precedes a request that waited for nothing. What was sent before a second without any
// says how much was asked, not how much would be accepted, so the measures begin again.
func (p *pace) alone(now time.Time) {
	if now.Sub(p.last) < time.Second {
		return
	}
	p.began, p.minute = now, minute{}
	p.resample(now)
}

func (p *pace) refused(sent time.Time) {
	if !sent.Before(p.began) {
		p.minute.add(sent, -1)
	}
	if !sent.Before(p.sample.began) {
		p.sample.refused++
	}
	p.trial.refused++
}

func (p *pace) observe(now time.Time, w llm.Window) {
	if w.Limit <= 0 {
		return
	}
	p.reported, p.seen = w.Limit, now
	p.left = float64(w.Remaining+1) / float64(w.Limit)
}

// growth is by how much a learned rate grows in a minute in which calls wait, so that a
// limit is met again after about ten seconds. It must be more than what a cut takes of a
// rate when a tenth of all requests is refused by chance.
const growth = 0.2

// grow follows an answer while calls are held back. Each minute without a refusal doubles the growth.
func (p *pace) grow(now time.Time) {
	if p.learned == 0 {
		return
	}
	step := growth / 60 * math.Exp2(min(10, now.Sub(p.calm).Minutes()))
	p.learned += min(step, p.learned/100)
	if limit := p.limit(); limit > 0 && p.learned >= float64(limit)/60*headroom {
		p.learned = 0
	}
}

const (
	// enough requests make a measure.
	enough = 5
	// many requests make a share of refusals.
	many = 20
	// heavy is a share of refusals that a rate far above the limit explains.
	heavy = 0.25
	// plenty is the remaining part of a limit with which a refusal has another reason.
	plenty = 0.05
	// below what was accepted is the rate that is learned from it.
	below = 0.98
)

// cut learns from a refusal at now. Waiting means that calls are held back. It returns how
// many calls may be in flight.
//
// A rate is lowered to what was accepted in the last minute, and not further: a provider that
// refuses a few requests by chance would be asked ever more slowly otherwise. Where many are
// refused, it is lowered at once to what was accepted, unless that did not help the time
// before.
func (p *pace) cut(now, stalled time.Time, waiting bool, width, inFlight int) int {
	p.calm = now
	current := p.rate(now)
	p.trial.end(now)
	accepted := per(p.minute.sum(now), min(time.Minute, now.Sub(p.began)))
	switch rate, ok := p.tooFast(now, stalled); {
	case !ok && !waiting && inFlight < firstWidth: // so few calls at once are hardly too many
	case current == 0 && ok:
		p.learned = max(slowest, below*rate)
		return 0
	case current == 0 && accepted == 0: // nothing is known but that these were too many
		return max(1, inFlight/2)
	case current == 0:
		p.learned = below * accepted
		return 0
	case ok:
		p.learned = max(slowest, p.trial.floor, below*min(current, rate))
	case !waiting, accepted == 0, now.Sub(stalled) < time.Minute, now.Sub(p.seen) < 10*time.Second && p.left > plenty:
		// the pace is not the reason
	default:
		p.learned = max(slowest, p.trial.floor, min(current, below*accepted))
	}
	return width
}

// tooFast returns the rate at which requests were accepted lately, if so many were refused
// that the limit must be far lower than the pace.
func (p *pace) tooFast(now, stalled time.Time) (rate float64, ok bool) {
	s := &p.sample
	if s.began.Before(stalled) { // what was refused in long pauses says nothing of the pace
		p.resample(stalled)
	}
	if s.sent < many || s.sent-s.refused < enough {
		return 0, false
	}
	share, was := float64(s.refused)/float64(s.sent), s.helpless
	rate = per(s.sent-s.refused, now.Sub(s.began))
	p.resample(now)
	if share < heavy {
		s.helpless = 0
		return 0, false
	}
	s.helpless = share
	return rate, rate > 0 && (was == 0 || share < was/2)
}

// resample begins a new sample, without the pauses before.
func (p *pace) resample(now time.Time) { p.sample = sample{began: now, helpless: p.sample.helpless} }

// per returns requests per second; 0 if they are too few to say.
func per(requests int, over time.Duration) float64 {
	if requests < enough || over <= 0 {
		return 0
	}
	return float64(requests) / over.Seconds()
}

// minute counts the requests of the last 60 seconds.
type minute struct {
	counts [60]int
	last   int64 // the second that was counted last
}

func (m *minute) add(at time.Time, n int) {
	m.move(at)
	if second := at.Unix(); second > m.last-60 {
		m.counts[second%60] += n
	}
}

func (m *minute) sum(now time.Time) (n int) {
	m.move(now)
	for _, c := range m.counts {
		n += c
	}
	return n
}

func (m *minute) move(now time.Time) {
	second := now.Unix()
	if second-m.last >= 60 {
		m.counts, m.last = [60]int{}, second
	}
	for ; m.last < second; m.last++ {
		m.counts[(m.last+1)%60] = 0
	}
}
