package limit

import (
	"cmp"
	"slices"
	"time"
)

// place is a call's in the queue. It keeps it over all of its tries.
type place struct {
	number uint64
	since  time.Time

	refused time.Time // first; zero before
	alone   bool      // nothing else was on its way when it was refused last

	woken chan struct{} // nil until it has to wait
}

// queue has the calls that wait, the oldest first.
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

// wake lets the first one look whether it may go. It alone waits for a point in time.
func (q *queue) wake() {
	if len(*q) == 0 || (*q)[0].woken == nil {
		return
	}
	select {
	case (*q)[0].woken <- struct{}{}:
	default:
	}
}
