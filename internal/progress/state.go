package progress

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"batch.example/batch/internal/printable"
)

// state is what is known of a run from its events. It has no lock of its own.
type state struct {
	total, kept, workers int
	begun                bool      // something other than a message has happened
	start, end           time.Time // end is zero while the run goes on
	spent                float64   // by attempts that have ended, earlier runs included
	running              map[string]*attempt
	ended                map[string]ending // how each instance's last attempt ended
	pulls                map[string]*attempt
	seq                  int
}

// pending is the outcome of an instance that a later run takes up again.
const pending = "pending"

type ending struct {
	status string
	done   bool // false: it is pending
}

// attempt is a running attempt at an instance, or the pull of an image that
// no instance waits for yet.
type attempt struct {
	id                string
	step, seq         int
	phase             string
	cost              float64
	start             time.Time
	bytes, bytesTotal int64
}

func newState(total, workers int, now time.Time) *state {
	return &state{
		total: total, workers: workers, start: now,
		running: map[string]*attempt{}, ended: map[string]ending{}, pulls: map[string]*attempt{},
	}
}

// apply takes e into account. An event about an instance that does not run is
// left out: reports may arrive after the end they belong to.
func (s *state) apply(e Event) {
	s.begun = s.begun || e.Type != Message
	switch e.Type {
	case RunStart:
		s.start, s.kept, s.spent = e.Time, e.Done, e.Cost
		s.total = cmp.Or(e.Total, s.total)
	case InstanceStart:
		s.seq++
		delete(s.ended, e.Instance)
		s.forget(e.Instance)
		s.running[e.Instance] = &attempt{
			id: printable.Line(e.Instance), seq: s.seq, phase: printable.Line(e.Phase), start: e.Time,
		}
	case InstancePhase:
		if a := s.running[e.Instance]; a != nil {
			a.phase, a.step, a.cost = printable.Line(e.Phase), e.Step, e.Cost
			a.bytes, a.bytesTotal = 0, 0
		}
	case InstanceEnd:
		s.spent += e.Cost
		delete(s.running, e.Instance)
		s.ended[e.Instance] = ending{cmp.Or(printable.Line(e.Status), printable.Line(e.Outcome), "ended"), e.Outcome != pending}
	case Pull:
		s.applyPull(e)
	case RunEnd:
		s.end = e.Time
		s.total = cmp.Or(e.Total, s.total)
		for id := range s.running {
			s.forget(id)
		}
		s.spent = cmp.Or(e.Cost, s.spent)
		clear(s.pulls)
	}
}

// forget takes id off the running ones without an end; its money stays spent.
func (s *state) forget(id string) {
	if a := s.running[id]; a != nil {
		s.spent += a.cost
		delete(s.running, id)
	}
}

func (s *state) applyPull(e Event) {
	a := s.running[e.Instance]
	if a == nil && e.Instance != "" {
		return
	}
	if a == nil {
		if a = s.pulls[e.Text]; a == nil {
			s.seq++
			a = &attempt{id: printable.Line(e.Text), seq: s.seq, start: e.Time}
			s.pulls[e.Text] = a
		}
	}
	a.phase, a.bytes, a.bytesTotal = "pull", e.Bytes, e.BytesTotal
	if e.Status == PullDone || e.Error != "" {
		a.bytes, a.bytesTotal = 0, 0
		delete(s.pulls, e.Text)
	}
}

// done is the number of instances that need no more work, in this run or before it.
func (s *state) done() int { return s.kept + s.doneHere() }

// doneHere is what this run has done of them.
func (s *state) doneHere() int {
	n := 0
	for _, e := range s.ended {
		if e.done {
			n++
		}
	}
	return n
}

// cost is what was spent so far, running attempts included.
func (s *state) cost() float64 {
	sum := s.spent
	for _, a := range s.running {
		sum += a.cost
	}
	return sum
}

func (s *state) elapsed(now time.Time) time.Duration {
	if !s.end.IsZero() {
		now = s.end
	}
	return max(0, now.Sub(s.start))
}

// left estimates the time to the end from the pace of this run alone; what
// earlier runs did took none of its time.
func (s *state) left(now time.Time) (d time.Duration, known bool) {
	n := s.doneHere()
	if n == 0 || !s.end.IsZero() {
		return 0, false
	}
	rest := max(0, s.total-s.done())
	return time.Duration(float64(s.elapsed(now)) / float64(n) * float64(rest)), true
}

// oldestFirst lists what runs: the attempts, then the pulls ahead of them.
func (s *state) oldestFirst() []*attempt {
	bySeq := func(a, b *attempt) int { return cmp.Compare(a.seq, b.seq) }
	return append(slices.SortedFunc(maps.Values(s.running), bySeq),
		slices.SortedFunc(maps.Values(s.pulls), bySeq)...)
}

type count struct {
	status string
	n      int
}

// counts are the ended instances by exit status, most frequent first.
func (s *state) counts() []count {
	byStatus := map[string]int{}
	for _, e := range s.ended {
		byStatus[e.status]++
	}
	list := make([]count, 0, len(byStatus))
	for status, n := range byStatus {
		list = append(list, count{status, n})
	}
	slices.SortFunc(list, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.status, b.status))
	})
	return list
}
