package limit

import (
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
