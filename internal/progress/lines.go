package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"batch.example/batch/internal/printable"
)

const summaryEvery = 30 * time.Second

// Lines shows a run as plain text where there is no terminal to paint on: a
// line for each start and end of an instance and each message, and a summary
// at most every 30 seconds and at Close.
type Lines struct {
	out *queue

	mu      sync.Mutex
	state   *state
	summed  time.Time // when the last summary was written
	last    time.Time // the time of the newest event
	closing sync.Once
}

// NewLines returns a display that writes to w, always whole lines at a time.
func NewLines(w io.Writer) *Lines {
	now := time.Now()
	return &Lines{out: newQueue(w), state: newState(0, 0, now), summed: now, last: now}
}

// Event writes the line that e deserves; see [Display].
func (l *Lines) Event(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	l.last = e.Time
	started := l.state.running[e.Instance]
	l.state.apply(e)
	if text := l.describe(e, started); text != "" {
		l.line(text)
	}
	if e.Type == RunStart {
		l.summed = e.Time
	} else if e.Time.Sub(l.summed) >= summaryEvery {
		l.line(l.summary())
		l.summed = e.Time
	}
}

func (l *Lines) line(text string) {
	l.out.put([]byte(l.last.Format(time.TimeOnly) + " " + printable.Line(text) + "\n"))
}

// LogWriter returns a writer whose writes, each of whole lines, take their
// place among the display's own, as they are. It is safe for concurrent use and
// never fails.
func (l *Lines) LogWriter() io.Writer { return l.out }

// describe returns the line for e, or nothing. started is the attempt that e ends.
func (l *Lines) describe(e Event, started *attempt) string {
	switch e.Type {
	case RunStart:
		text := fmt.Sprintf("run: %d instances", e.Total)
		if e.Done > 0 {
			text += fmt.Sprintf(", %d kept from earlier runs", e.Done)
		}
		return text
	case InstanceStart:
		if e.Attempt > 1 {
			return fmt.Sprintf("start %s (attempt %d)", e.Instance, e.Attempt)
		}
		return "start " + e.Instance
	case InstanceEnd:
		text := fmt.Sprintf("end %s: %s, %d steps, %s", e.Instance, l.state.ended[e.Instance].status, e.Step, dollars(e.Cost))
		if started != nil {
			text += ", " + span(max(0, e.Time.Sub(started.start)))
		}
		text += fmt.Sprintf(" [%d/%d]", l.state.done(), l.state.total)
		if e.Error != "" {
			text += ": " + e.Error
		}
		return text
	case Message:
		return e.Text
	case RunEnd:
		return e.Error
	default:
		return ""
	}
}

// summary is the state of the run in one line.
func (l *Lines) summary() string {
	s := l.state
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%d done", s.done(), s.total)
	if s.end.IsZero() {
		fmt.Fprintf(&b, ", %d running", len(s.running))
	}
	fmt.Fprintf(&b, ", %s, elapsed %s", dollars(s.cost()), span(s.elapsed(l.last)))
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

// Close writes a last summary; see [Display].
func (l *Lines) Close() error {
	l.closing.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.line(l.summary())
	})
	return l.out.close()
}
