package limit

import (
	"container/heap"
	"time"
)

// place is a call's in the queue. It keeps it over all of its tries.
type place struct {
	number uint64
	since  time.Time

	refused time.Time // first; zero before
	alone   bool      // nothing else was on its way when it was refused last

	index int           // in the queue
	woken chan struct{} // nil until it has to wait
}

// queue is a heap of the calls that wait, the oldest first.
type queue []*place

// Len, Less, Swap, Push and Pop are for [heap.Interface].
func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].number < q[j].number }

// Swap implements [heap.Interface].
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements [heap.Interface].
func (q *queue) Push(x any) {
	p := x.(*place)
	p.index = len(*q)
	*q = append(*q, p)
}

// Pop implements [heap.Interface].
func (q *queue) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return p
}

func (q *queue) remove(p *place) { heap.Remove(q, p.index) }

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
