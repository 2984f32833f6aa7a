package limit

import "time"

const (
	// firstWidth is how many calls are made at once before anything is known of a key. Each
	// answer allows one more, so that the width doubles in the time of a call.
	firstWidth = 8
	// leastWidth lets a call go beside one that takes long.
	leastWidth = 2
	// shrink is the part of the width that a refusal leaves, and fastShrink what one does in fast
	// growth.
	shrink, fastShrink = 0.8, 0.5
	// growth is by how much the width grows in the time of a call.
	growth = 0.5
	// calm is a time without a refusal after which the width grows as at the beginning.
	calm = 30 * time.Second
)

// width bounds the calls in flight: it grows a little with each answer and shrinks with a
// refusal.
type width struct {
	most    float64   // 0 is no limit
	refused time.Time // the last one; zero before the first
}

// free removes the bound of a key with a known limit, which no refusal has contradicted.
func (w *width) free() {
	if w.refused.IsZero() {
		w.most = 0
	}
}

func (w *width) full(inFlight int) bool { return w.most > 0 && inFlight >= int(w.most) }

func (w *width) fast(now time.Time) bool { return now.Sub(w.refused) > calm }

// grow follows an answer while calls wait.
func (w *width) grow(now time.Time) {
	switch {
	case w.most == 0:
	case w.fast(now):
		w.most++
	default:
		w.most += growth / w.most
	}
}

// shrink follows a refusal of one more call than are in flight.
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
