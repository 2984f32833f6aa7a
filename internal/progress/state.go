package progress

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

// state is the state of a run after its events so far. It has no lock of its own.
type state struct {
	total, kept, workers int
	begun                bool      // an event other than a message has come
	start, end           time.Time // end is zero while the run works
	spent                float64   // cost of all answered calls, earlier runs included
	running              map[string]*attempt
	ended                map[string]ending // how each instance's last attempt ended
	pulls                map[string]*attempt
	seq                  int
	refused              string          // why the provider refused the run's calls
	grading              bool            // predictions are graded, no agent runs
	graded               map[string]bool // by instance, if its verdict counts: whether its prediction is resolved
}

type ending struct {
	status  string
	outcome vocab.Outcome
}

// failed reports whether the instance has no result. A pending instance was stopped, which is not a failure.
func (e ending) failed() bool { return !e.outcome.Final() && e.outcome != vocab.OutcomePending }

// retried reports whether the instance will be retried without a correction by the user.
func (e ending) retried() bool { return e.failed() && !vocab.Status(e.status).NeedsCorrection() }

// attempt is a running attempt at an instance, or the pull of an image that no instance waits for yet.
type attempt struct {
	vocab.Worker
	id  string
	seq int
}

// phase names what the attempt does or waits for.
func (a *attempt) phase() string {
	switch a.Waiting {
	case "":
		return printable.Line(a.Phase)
	case "retry":
		return "back-off"
	default:
		return a.Waiting
	}
}

func newState(total, workers int, now time.Time) *state {
	return &state{
		total: total, workers: workers, start: now,
		running: map[string]*attempt{}, ended: map[string]ending{}, pulls: map[string]*attempt{}, graded: map[string]bool{},
	}
}

// apply updates the state with e. It ignores an event about an instance that does not run, because reports
// may arrive after the instance's end. It returns the new part of e: the reason why the provider refuses all
// instances is shown only once.
func (s *state) apply(e vocab.Event) vocab.Event {
	s.begun = s.begun || e.Type != vocab.EventMessage
	s.spent = max(s.spent, e.Spent) // events of several goroutines may come out of order
	switch e.Type {
	case vocab.EventRunStart:
		s.start, s.kept, s.spent = e.Time, e.Done, e.Cost-e.Held
		s.grading = e.Grading
		s.total, s.workers = cmp.Or(e.Total, s.total), cmp.Or(e.Workers, s.workers)
	case vocab.EventInstanceStart:
		s.seq++
		delete(s.ended, e.Name())
		s.running[e.Name()] = &attempt{vocab.NewWorker(e), printable.Line(e.Name()), s.seq}
	case vocab.EventPhase, vocab.EventCallRetry, vocab.EventInstanceRetry:
		if a := s.running[e.Name()]; a != nil {
			a.Apply(e)
		}
	case vocab.EventInstanceEnd:
		delete(s.running, e.Name())
		s.ended[e.Name()] = ending{printable.Line(label(e)), e.Outcome}
		if e.Status == vocab.StatusNotRun {
			if e.Error == s.refused {
				e.Error = ""
			} else {
				s.refused = e.Error
			}
		}
	case vocab.EventGraded:
		if e.Verdict.Counts() {
			s.graded[e.Name()] = e.Verdict == vocab.VerdictResolved
		}
	case vocab.EventPull:
		s.applyPull(e)
	case vocab.EventRunEnd:
		s.end = e.Time
		s.total = cmp.Or(e.Total, s.total)
		clear(s.running)
		s.spent = cmp.Or(e.Cost-e.Held, s.spent)
		clear(s.pulls)
	}
	return e
}

func (s *state) applyPull(e vocab.Event) {
	a := s.running[e.Name()]
	if a == nil && e.Instance != "" {
		return
	}
	if a == nil {
		if a = s.pulls[e.Image]; a == nil {
			s.seq++
			a = &attempt{vocab.NewWorker(e), printable.Line(e.Image), s.seq}
			s.pulls[e.Image] = a
		}
	}
	a.Phase, a.Waiting = "pull", ""
	if e.Ended || e.Error != "" {
		delete(s.pulls, e.Image)
	}
}

// done returns the number of instances that have a result, of this run or an earlier one.
func (s *state) done() int {
	return s.kept + s.endedWith(func(e ending) bool { return e.outcome.Final() })
}

// failed returns the number of instances that this run leaves without a result.
func (s *state) failed() int { return s.endedWith(ending.failed) }

func (s *state) retried() int { return s.endedWith(ending.retried) }

func (s *state) endedWith(is func(ending) bool) int {
	n := 0
	for _, e := range s.ended {
		if is(e) {
			n++
		}
	}
	return n
}

func (s *state) elapsed(now time.Time) time.Duration {
	if !s.end.IsZero() {
		now = s.end
	}
	return max(0, now.Sub(s.start))
}

// left estimates the time to the end from the pace of this run alone, because earlier runs' results took none
// of its time.
func (s *state) left(now time.Time) (d time.Duration, known bool) {
	ended := s.done() + s.failed() // this run does not repeat the failed ones
	n := ended - s.kept
	if n == 0 || !s.end.IsZero() {
		return 0, false
	}
	rest := max(0, s.total-ended)
	return time.Duration(float64(s.elapsed(now)) / float64(n) * float64(rest)), true
}

// oldestFirst lists the running attempts, then the early pulls, each from the oldest to the newest.
func (s *state) oldestFirst() []*attempt {
	bySeq := func(a, b *attempt) int { return cmp.Compare(a.seq, b.seq) }
	return append(slices.SortedFunc(maps.Values(s.running), bySeq),
		slices.SortedFunc(maps.Values(s.pulls), bySeq)...)
}

// resolved returns the number of graded predictions that are resolved.
func (s *state) resolved() int {
	n := 0
	for _, resolved := range s.graded {
		if resolved {
			n++
		}
	}
	return n
}

type tally struct {
	status string
	n      int
}

// counts returns the ended instances by exit status, most frequent first.
func (s *state) counts() []tally {
	byStatus := map[string]int{}
	for _, e := range s.ended {
		byStatus[e.status]++
	}
	list := make([]tally, 0, len(byStatus))
	for status, n := range byStatus {
		list = append(list, tally{status, n})
	}
	slices.SortFunc(list, func(a, b tally) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.status, b.status))
	})
	return list
}
