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
	linger  bool // a run waits for instances that are added, as long as one of any run waits or runs
	running int  // instances that were taken and have not ended, and holds; counted if linger is set

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
	case t.left[run] == 0 && !t.gone[run] && t.linger && (len(t.order) > 0 || t.running > 0):
		return in, false, t.changed
	case t.left[run] == 0 || t.gone[run]:
		t.gone[run] = true // nothing can be added any more
		return in, false, nil
	case t.entering >= 0 || t.order[0].run != run:
		return in, false, t.changed
	}
	in = t.order[0].Instance
	t.order = t.order[1:]
	t.left[run]--
	t.entering = run
	t.running++
	return in, true, nil
}

// add appends an instance of a run. It returns false if the run takes no more.
func (t *slots) add(run int, in dataset.Instance) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone[run] {
		return false
	}
	t.order = append(t.order, slot{run, in})
	t.left[run]++
	t.broadcast()
	return true
}

// hold keeps a run open for an instance that will be added, until ended is called. It returns false
// if the run takes no more.
func (t *slots) hold(run int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.gone[run] {
		t.running++
	}
	return !t.gone[run]
}

// ended records that an instance that was taken has ended.
func (t *slots) ended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	t.broadcast()
}

// leave records that a run takes no more instances.
func (t *slots) leave(run int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone[run] = true
	if t.entering == run { // it will not begin, so it cannot end
		t.running--
	}
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

// Add appends an instance of the run. It returns false if the run takes no more.
func (t *slotsOf) Add(in dataset.Instance) bool { return t.add(t.run, in) }

// Hold keeps the run open until Ended. It returns false if the run takes no more.
func (t *slotsOf) Hold() bool { return t.hold(t.run) }

// Ended records that an instance of the run has ended, or ends a Hold.
func (t *slotsOf) Ended() { t.ended() }

// Left implements runner.Source.
func (t *slotsOf) Left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left[t.run]
}
