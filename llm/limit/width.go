package limit

import (
	"math"
	"time"
)

const (
	// firstWidth is how many calls are made at once before anything is known of a key. Each
	// answer allows one more, so that the width doubles in the time of a call.
	firstWidth = 8
	// leastWidth lets a call go beside one that takes long.
	leastWidth = 2
	// shrink is the part of the width that a refusal leaves, and firstShrink what the first one
	// does: until then the width grew fast.
	shrink, firstShrink = 0.85, 0.5
	// growth is by how much the width grows in the time of a call.
	growth = 0.5
)

// width bounds the calls in flight: it grows a little with each answer and shrinks with a
// refusal.
type width struct {
	most float64   // 0 is no limit
	cut  time.Time // the last refusal; zero before the first
}

// free removes the bound of a key with a known limit, which no refusal has contradicted.
func (w *width) free() {
	if w.cut.IsZero() {
		w.most = 0
	}
}

func (w *width) full(inFlight int) bool { return w.most > 0 && inFlight >= int(w.most) }

// grow follows an answer when the width was used. Each minute without a refusal doubles the growth.
func (w *width) grow(now time.Time) {
	switch {
	case w.most == 0:
	case w.cut.IsZero():
		w.most++
	default:
		w.most += min(1, growth/w.most*math.Exp2(min(10, now.Sub(w.cut).Minutes())))
	}
}

// shrink follows a refusal of one more call than are in flight.
func (w *width) shrink(now time.Time, inFlight int) {
	used := float64(inFlight + 1)
	if w.most > 0 {
		used = min(used, w.most)
	}
	part := shrink
	if w.cut.IsZero() {
		part = firstShrink
	}
	w.most, w.cut = max(leastWidth, part*used), now
}
