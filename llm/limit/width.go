package limit

import "time"

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
