package run

import (
	"context"
	"sync"

	"batch.example/batch/dataset"
)

// slot is an instance that one run of a sweep is to run.
type slot struct {
	run int
	dataset.Instance
}

// slots gives the runs of a sweep their instances in one common order: a run waits for its slot, and
// the next slot follows when its instance has begun. The slots of a run that takes no more instances
// are skipped. It is safe for concurrent use.
type slots struct {
	mu       sync.Mutex
	order    []slot // not taken yet
	left     map[int]int
	gone     map[int]bool
	entering int           // the run that took the last instance, which has not begun yet; -1: none
	changed  chan struct{} // closed and replaced at each change
}

func newSlots(order []slot) *slots {
	t := &slots{order: order, left: map[int]int{}, gone: map[int]bool{}, entering: -1, changed: make(chan struct{})}
	for _, next := range order {
		t.left[next.run]++
	}
	return t
}

// take returns the next instance of a run if it is its turn, otherwise a channel to wait
// for; neither if it has no more.
func (t *slots) take(run int) (in dataset.Instance, ok bool, wait <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.order) > 0 && t.gone[t.order[0].run] {
		t.order = t.order[1:]
	}
	switch {
	case t.left[run] == 0 || t.gone[run]:
		return in, false, nil
	case t.entering >= 0 || t.order[0].run != run:
		return in, false, t.changed
	}
	in = t.order[0].Instance
	t.order = t.order[1:]
	t.left[run]--
	t.entering = run
	return in, true, nil
}

// leave records that a run takes no more instances.
func (t *slots) leave(run int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone[run] = true
	t.begun(run)
}

// begun records that the instance that a run took has begun, or will not. t.mu is held.
func (t *slots) begun(run int) {
	if t.entering == run {
		t.entering = -1
	}
	t.broadcast()
}

// broadcast is called with t.mu held.
func (t *slots) broadcast() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// slotsOf is the source of one run's instances.
type slotsOf struct {
	*slots
	run   int
	watch sync.Once
}

// Next implements runner.Source. When the run admits no more instances, its slots are
// skipped, so that the other runs do not wait for it.
func (t *slotsOf) Next(ctx context.Context) (in dataset.Instance, ok bool, err error) {
	t.watch.Do(func() { context.AfterFunc(ctx, func() { t.leave(t.run) }) })
	for {
		in, ok, wait := t.take(t.run)
		if ok || wait == nil {
			return in, ok, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return in, false, nil
		}
	}
}

// Entered records that the instance of the last slot has begun.
func (t *slotsOf) Entered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun(t.run)
}

// Left implements runner.Source.
func (t *slotsOf) Left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left[t.run]
}
