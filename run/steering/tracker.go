package steering

import (
	"cmp"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"batch.example/batch/control"
	"batch.example/batch/internal/mask"
	"batch.example/batch/runner"
)

// tracker keeps the state of each worker.
type tracker struct {
	mask *mask.Masker

	mu      sync.Mutex
	running map[string]*worker
	ended   map[string]runner.State // how instances ended that ran in this process, by name
	results int                     // of ended: those with a result
	failed  int                     // likewise
	kept    int                     // instances with a result of an earlier process
	total   int
}

// worker is a running attempt.
type worker struct {
	control.Worker
	changed time.Time
}

func (t *tracker) init(m *mask.Masker) {
	t.mask = m
	t.running, t.ended = map[string]*worker{}, map[string]runner.State{}
}

// begin takes note of the size of the work.
func (t *tracker) begin(done, total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept, t.total = done, total
}

// event takes note of an event of an instance, by its name in the work.
func (t *tracker) event(cell, name string, e runner.Event) {
	now := time.Now()
	e.Progress.Doing = cut(t.mask.Text(e.Progress.Doing)) // a part of a secret would not be recognized
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.running[name]
	switch {
	case e.Type == runner.EventStart:
		t.leave(name)
		t.running[name] = &worker{control.Worker{
			Cell: cell, Instance: e.Job, Attempt: e.Attempt, Started: now, Phase: "start", Since: now,
		}, now}
	case w == nil: // a report that came after the end
	case e.Type == runner.EventEnd:
		delete(t.running, name)
		t.end(name, e.Ending.State)
	default:
		w.change(e, now)
	}
}

// change takes note of the progress of a worker.
func (w *worker) change(e runner.Event, now time.Time) {
	p := e.Progress
	w.Since, w.changed, w.Waiting, w.Until = now, now, "", nil
	switch {
	case e.Type == runner.EventRetry:
		w.wait("retry", now, e.Wait)
		w.Step, w.Cost, w.Doing, w.Reason = e.Ending.Steps, e.Ending.Cost, "", e.Ending.Error
		return
	case p.Retry != nil:
		w.wait(waiting(p.Retry), now, p.Retry.Wait)
		w.Reason = p.Retry.Reason
	case p.Held:
		w.Waiting = string(control.Paused)
	default:
		w.Phase, w.Doing, w.Reason = p.Phase, p.Doing, ""
	}
	w.Step, w.Cost, w.Engine = p.Step, p.Cost, cmp.Or(p.Engine, w.Engine)
}

func (w *worker) wait(why string, now time.Time, d time.Duration) {
	until := now.Add(d)
	w.Waiting, w.Until = why, &until
}

// waiting is why a failed call is not made again at once.
func waiting(r *runner.Retry) string {
	if r.RateLimited {
		return "rate limit"
	}
	return "back-off"
}

// cut returns the beginning of a text, without a part of a character.
func cut(text string) string {
	end := min(len(text), control.MaxDoing)
	for 0 < end && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// pulled takes note that the image of an instance arrives.
func (t *tracker) pulled(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.running[name]; w != nil {
		w.changed = time.Now()
	}
}

// end counts an instance that ended. t.mu is held.
func (t *tracker) end(name string, s runner.State) {
	t.leave(name)
	t.ended[name] = s
	*t.counter(s)++
}

// final reports whether an instance has ended with a result and was not begun or requeued since.
func (t *tracker) final(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.ended[name]
	return ok && s == runner.Final
}

// leave takes back how an instance ended before. t.mu is held.
func (t *tracker) leave(name string) {
	if s, ok := t.ended[name]; ok {
		*t.counter(s)--
		delete(t.ended, name)
	}
}

func (t *tracker) counter(s runner.State) *int {
	switch s {
	case runner.Final:
		return &t.results
	case runner.Failed:
		return &t.failed
	default:
		return new(int) // not counted
	}
}

// again takes note that an instance with a result of this or an earlier process runs again. Undo
// takes that back.
func (t *tracker) again(name string) (undo func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, here := t.ended[name]
	if !here {
		t.kept--
	}
	t.leave(name)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if here {
			t.end(name, s)
		} else {
			t.kept++
		}
	}
}

// fill sets the parts of a status that the tracker knows.
func (t *tracker) fill(s *control.Status) {
	t.mu.Lock()
	s.Running, s.Done, s.Failed, s.Total = len(t.running), t.kept+t.results, t.failed, t.total
	list := make([]worker, 0, len(t.running))
	for _, w := range t.running {
		list = append(list, *w)
	}
	t.mu.Unlock()
	s.Workers = make([]control.Worker, len(list))
	for i, w := range list {
		last := w.changed
		if w.Until != nil && w.Until.After(last) {
			last = *w.Until
		}
		w.Stalled = w.Waiting != string(control.Paused) && s.Now.Sub(last) > control.StalledAfter
		s.Workers[i] = w.Worker
	}
	slices.SortFunc(s.Workers, func(a, b control.Worker) int {
		if a.Stalled != b.Stalled {
			return ifStalled(a)
		}
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Instance, b.Instance))
	})
}

func ifStalled(w control.Worker) int {
	if w.Stalled {
		return -1
	}
	return 1
}
