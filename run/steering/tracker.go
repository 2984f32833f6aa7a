package steering

import (
	"cmp"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"batch.example/batch/internal/mask"
	"batch.example/batch/run/control"
	"batch.example/batch/vocab"
)

// tracker keeps the state of each worker.
type tracker struct {
	mask *mask.Masker

	mu      sync.Mutex
	running map[string]*worker
	ended   map[string]vocab.Outcome // how instances ended that ran in this process, by name
	results int                      // of ended: those with a result
	failed  int                      // likewise
	kept    int                      // instances with a result of an earlier process
	total   int
}

// worker is a running attempt.
type worker struct {
	vocab.Worker
	changed time.Time
}

func (t *tracker) init(m *mask.Masker) {
	t.mask = m
	t.running, t.ended = map[string]*worker{}, map[string]vocab.Outcome{}
}

// event takes note of an event of the work.
func (t *tracker) event(e vocab.Event) {
	name := e.Name()
	e.Doing = cut(t.mask.Text(e.Doing)) // a part of a secret would not be recognized
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.running[name]
	switch e.Type {
	case vocab.EventRunStart:
		t.kept, t.total = e.Done, e.Total
	case vocab.EventInstanceStart:
		t.leave(name)
		w = &worker{vocab.NewWorker(e), e.Time}
		w.Phase = "start"
		t.running[name] = w
	case vocab.EventPhase, vocab.EventCallRetry, vocab.EventInstanceRetry:
		if w != nil { // otherwise a report came after the end
			w.Apply(e)
			w.changed = e.Time
		}
	case vocab.EventPull:
		if w != nil {
			w.changed = e.Time
		}
	case vocab.EventInstanceEnd:
		if w != nil {
			delete(t.running, name)
			t.end(name, e.Outcome)
		}
	}
}

// cut returns the beginning of a text, without a part of a character.
func cut(text string) string {
	end := min(len(text), control.MaxDoing)
	for 0 < end && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// end counts an instance that ended. t.mu is held.
func (t *tracker) end(name string, o vocab.Outcome) {
	t.leave(name)
	t.ended[name] = o
	*t.counter(o)++
}

// final reports whether an instance has ended with a result and was not begun or requeued since.
func (t *tracker) final(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended[name].Final()
}

// leave takes back how an instance ended before. t.mu is held.
func (t *tracker) leave(name string) {
	if o, ok := t.ended[name]; ok {
		*t.counter(o)--
		delete(t.ended, name)
	}
}

func (t *tracker) counter(o vocab.Outcome) *int {
	switch {
	case o.Final():
		return &t.results
	case o == vocab.OutcomePending:
		return new(int) // not counted
	default:
		return &t.failed
	}
}

// again takes note that an instance with a result of this or an earlier process runs again. Undo
// takes that back.
func (t *tracker) again(name string) (undo func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ended, here := t.ended[name]
	if !here {
		t.kept--
	}
	t.leave(name)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if here {
			t.end(name, ended)
		} else {
			t.kept++
		}
	}
}

// fill sets the parts of a status that the tracker knows.
func (t *tracker) fill(s *control.Status) {
	t.mu.Lock()
	s.Running, s.Done, s.Failed, s.Total = len(t.running), max(0, t.kept+t.results), t.failed, t.total
	s.Kept = s.Done - t.results
	list := make([]worker, 0, len(t.running))
	for _, w := range t.running {
		list = append(list, *w)
	}
	t.mu.Unlock()
	s.Workers = make([]vocab.Worker, len(list))
	for i, w := range list {
		last := w.changed
		if w.Until != nil && w.Until.After(last) {
			last = *w.Until
		}
		w.Stalled = w.Waiting != string(control.Paused) && s.Now.Sub(last) > control.StalledAfter
		s.Workers[i] = w.Worker
	}
	slices.SortFunc(s.Workers, func(a, b vocab.Worker) int {
		if a.Stalled != b.Stalled {
			return ifStalled(a)
		}
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Instance, b.Instance))
	})
}

func ifStalled(w vocab.Worker) int {
	if w.Stalled {
		return -1
	}
	return 1
}
