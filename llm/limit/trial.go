package limit

import "time"

// trial finds out whether lower rates help. Requests that a provider refuses because they
// are too many become fewer when the rate is lowered. If their share stays as it is, they are
// refused for another reason, and a rate that is lowered again and again would stop the run.
type trial struct {
	began         time.Time
	sent, refused int
	share, rate   float64 // of the trial before, in requests per second; 0 if there was none
	floor         float64 // below which a lower rate will not help; 0 if it may
}

const (
	// trials requests make a trial: a share of a tenth differs by chance by less than half.
	trials = 100
	// lower is to which part a rate is still lowered when that has not helped: where a
	// provider limits the calls at once, their refusals become fewer only slowly.
	lower = 0.6
)

// end ends a trial that is long enough.
func (t *trial) end(now time.Time) {
	if t.sent < trials {
		return
	}
	share, rate := float64(t.refused)/float64(t.sent), per(t.sent, now.Sub(t.began))
	helpless := share > t.share/2 && share < t.share*2
	switch {
	case !helpless:
		t.floor = 0
	case t.floor == 0:
		t.floor = lower * t.rate
	}
	*t = trial{began: now, share: share, rate: rate, floor: t.floor}
}
