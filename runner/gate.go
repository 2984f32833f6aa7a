package runner

import (
	"context"
	"time"
)

// Gate slows admission while something that all instances share is short. It
// is asked by one goroutine at a time, before each further instance, and about
// once a second until it has nothing against it. While no instance runs, the
// next is admitted all the same: the shortage is not of the run's making and
// may never end.
type Gate interface {
	// Closed says why no further instance should be admitted, for a person to
	// read; empty means that one may. It must be quick.
	Closed() string
}

// gatePause is how long a gate that was closed is left alone.
const gatePause = time.Second

// enter reports whether a further instance may start, when the gate is open or
// nothing else runs. Instances go through it one by one, so that each is
// seen by the gate before the next asks. An instance that enters must leave.
func (r *run) enter(ctx context.Context) bool {
	r.door <- struct{}{}
	defer func() { <-r.door }()
	told := ""
	for r.open(ctx) {
		why := r.closed()
		if why == "" {
			if told != "" {
				r.Log.Warn("admitting instances again")
			}
			r.mu.Lock()
			r.running++
			r.mu.Unlock()
			return true
		}
		if told == "" {
			told = why
			r.Log.Warn("admitting no further instance for now", "why", why)
		}
		r.sleep(ctx, gatePause)
	}
	return false
}

func (r *run) closed() string {
	r.mu.Lock()
	running := r.running
	r.mu.Unlock()
	if r.Gate == nil || running == 0 {
		return ""
	}
	return r.Gate.Closed()
}

func (r *run) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
}
