package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

const summaryEvery = 30 * time.Second

// Lines shows a run as plain text without a terminal: a line for each start and end of an instance and for
// each message, and a summary at most every 30 seconds and at Close.
type Lines struct {
	out *queue

	mu      sync.Mutex
	state   *state
	summed  time.Time // when the last summary was written
	last    time.Time // the time of the newest event
	closing sync.Once
}

// NewLines returns a display that writes to w, only whole lines at a time.
func NewLines(w io.Writer) *Lines {
	now := time.Now()
	return &Lines{out: newQueue(w), state: newState(0, 0, now), summed: now, last: now}
}

// Event writes the line for e, if there is one; see [Display].
func (l *Lines) Event(e vocab.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	l.last = e.Time
	if e.Type == vocab.EventRunStart {
		l.summed = e.Time
	} else if e.Type != vocab.EventRunEnd && e.Time.Sub(l.summed) >= summaryEvery {
		l.line(l.summary()) // before what e adds: the last event would be in two summaries
		l.summed = e.Time
	}
	started := l.state.running[e.Name()]
	e = l.state.apply(e)
	if text := l.describe(e, started); text != "" {
		l.line(text)
	}
}

func (l *Lines) line(text string) {
	l.out.put([]byte(l.last.Format(time.TimeOnly) + " " + printable.Line(text) + "\n"))
}

// describe returns the line for e, or "". started is the attempt that e ends.
func (l *Lines) describe(e vocab.Event, started *attempt) string {
	switch e.Type {
	case vocab.EventRunStart:
		return opening(e)
	case vocab.EventInstanceStart:
		if e.Attempt > 1 {
			return fmt.Sprintf("start %s (attempt %d)", e.Name(), e.Attempt)
		}
		return "start " + e.Name()
	case vocab.EventInstanceEnd:
		text := fmt.Sprintf("end %s: %s", e.Name(), label(e))
		if !l.state.grading {
			text += fmt.Sprintf(", %s, %s", printable.Count(e.Step, "step", "steps"), printable.Dollars(e.Cost))
		}
		if started != nil {
			text += ", " + span(max(0, e.Time.Sub(started.Started)))
		}
		text += fmt.Sprintf(" [%d/%d]", l.state.done(), l.state.total)
		if e.Error != "" {
			text += ": " + e.Error
		}
		return text
	case vocab.EventGraded:
		text := fmt.Sprintf("graded %s: %s", e.Name(), e.Verdict)
		if e.Error != "" {
			text += ": " + e.Error
		}
		return text
	default:
		return Notice(e)
	}
}

// opening returns the line at the beginning of a run.
func opening(e vocab.Event) string {
	if e.Grading {
		text := fmt.Sprintf("grading %s of %s, %d at once", printable.Count(e.Total-e.Done, "prediction", "predictions"), e.Model, e.Workers)
		if e.Done > 0 {
			text += fmt.Sprintf("; %d of %d graded already", e.Done, e.Total)
		}
		return text
	}
	text := "running " + printable.Count(e.Total-e.Done, "instance", "instances")
	if e.Model != "" {
		text += " with " + e.Model
	}
	if e.Workers > 0 {
		text += fmt.Sprintf(", %d at once", e.Workers)
	}
	have := "have"
	if e.Done == 1 {
		have = "has"
	}
	if e.Done > 0 {
		text += fmt.Sprintf("; %d of %d %s a result already", e.Done, e.Total, have)
	}
	return text
}

// summary returns the state of the run in one line.
func (l *Lines) summary() string {
	s := l.state
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%d done", s.done(), s.total)
	if n := s.retried(); n > 0 {
		fmt.Fprintf(&b, ", %d failed and will be retried", n)
	}
	if n := s.failed() - s.retried(); n > 0 {
		fmt.Fprintf(&b, ", %s", printable.Count(n, "failed and needs a correction", "failed and need a correction"))
	}
	if s.end.IsZero() {
		fmt.Fprintf(&b, ", %d running", len(s.running))
	}
	if !s.grading {
		fmt.Fprintf(&b, ", %s", printable.Dollars(s.spent))
	}
	fmt.Fprintf(&b, ", elapsed %s", span(s.elapsed(l.last)))
	if len(s.graded) > 0 {
		fmt.Fprintf(&b, ", %d graded, %d resolved", len(s.graded), s.resolved())
	}
	if d, known := s.left(l.last); known {
		fmt.Fprintf(&b, ", ETA %s", span(d))
	}
	for i, c := range s.counts() {
		sep := ", "
		if i == 0 {
			sep = "; "
		}
		fmt.Fprintf(&b, "%s%s %d", sep, c.status, c.n)
	}
	return b.String()
}

// Close writes a last summary if the run has begun; see [Display].
func (l *Lines) Close() error {
	l.closing.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state.begun {
			l.line(l.summary())
		}
	})
	return l.out.close()
}
