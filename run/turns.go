package run

import (
	"context"
	"sync"

	"batch.example/batch/dataset"
)

// turn is an instance that one run of a sweep is to run.
type turn struct {
	run int
	dataset.Instance
}

// turns gives the runs of a sweep their instances in one common order: a run waits for its turn, and
// the next turn follows when its instance has begun. The turns of a run that takes no more instances
// are skipped. It is safe for concurrent use.
type turns struct {
	mu       sync.Mutex
	order    []turn // not taken yet
	left     map[int]int
	gone     map[int]bool
	entering int           // the run that took the last instance, which has not begun yet; -1: none
	changed  chan struct{} // closed and replaced at each change
}

func newTurns(order []turn) *turns {
	t := &turns{order: order, left: map[int]int{}, gone: map[int]bool{}, entering: -1, changed: make(chan struct{})}
	for _, next := range order {
		t.left[next.run]++
	}
	return t
}

// take returns the next instance of a run if it is its turn, otherwise a channel to wait
// for; neither if it has no more.
func (t *turns) take(run int) (in dataset.Instance, ok bool, wait <-chan struct{}) {
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
func (t *turns) leave(run int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone[run] = true
	t.begun(run)
}

// begun records that the instance that a run took has begun, or will not. t.mu is held.
func (t *turns) begun(run int) {
	if t.entering == run {
		t.entering = -1
	}
	t.broadcast()
}

// broadcast is called with t.mu held.
func (t *turns) broadcast() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// turnsOf is the source of one run's instances.
type turnsOf struct {
	*turns
	run   int
	watch sync.Once
}

// Next implements runner.Source. When the run admits no more instances, its turns are
// skipped, so that the other runs do not wait for it.
func (t *turnsOf) Next(ctx context.Context) (in dataset.Instance, ok bool, err error) {
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

// Entered records that the instance of the last turn has begun.
func (t *turnsOf) Entered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun(t.run)
}

// Left implements runner.Source.
func (t *turnsOf) Left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left[t.run]
}
