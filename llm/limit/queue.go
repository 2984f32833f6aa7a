package limit

import (
	"cmp"
	"slices"
	"time"
)

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
