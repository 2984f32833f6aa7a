package progress

import (
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

func TestARetriedInstanceCountsOnce(t *testing.T) {
	now := time.Unix(0, 0)
	s := newState(2, 1, now)
	for range 2 {
		s.apply(vocab.Event{Type: vocab.EventInstanceStart, Instance: "one", Time: now})
		if s.done() != 0 {
			t.Errorf("%d instances are done while one runs again", s.done())
		}
		s.apply(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "one", Status: "TransientFault", Outcome: "infrastructure", Cost: 2, Spent: 4})
	}
	s.apply(vocab.Event{Type: vocab.EventPhase, Instance: "one", Cost: 100, Spent: 3}) // arrives late
	if s.done() != 0 || s.failed() != 1 || s.spent != 4 || len(s.running) != 0 {
		t.Errorf("done %d, failed %d, cost %v, running %d; want 0, 1, 4, 0", s.done(), s.failed(), s.spent, len(s.running))
	}
}

// The cost of a resumed attempt includes its cost before, which the run's beginning counts too.
func TestWhatAnAttemptCostIsNotAddedToTheRuns(t *testing.T) {
	s := newState(2, 1, time.Unix(0, 0))
	s.apply(vocab.Event{Type: vocab.EventRunStart, Cost: 5, Lost: 1, Held: 1})
	for _, spent := range []float64{4, 5, 6} {
		s.apply(vocab.Event{Type: vocab.EventInstanceStart, Instance: "one", Spent: spent})
		s.apply(vocab.Event{Type: vocab.EventPhase, Instance: "one", Cost: 4, Spent: spent})
	}
	if s.spent != 6 || len(s.running) != 1 {
		t.Errorf("cost %v, running %d; want 6, 1", s.spent, len(s.running))
	}
	s.apply(vocab.Event{Type: vocab.EventPull, Instance: "two", Bytes: 1})
	if list := s.oldestFirst(); len(list) != 1 {
		t.Errorf("a pull for an instance that does not run is shown: %v", list[1])
	}
	s.apply(vocab.Event{Type: vocab.EventRunEnd})
	if s.spent != 6 || len(s.running) != 0 {
		t.Errorf("at the end: cost %v, running %d; want 6, 0", s.spent, len(s.running))
	}
	s.apply(vocab.Event{Type: vocab.EventRunEnd, Cost: 7})
	if s.spent != 7 {
		t.Errorf("cost %v, want the cost in the end of the run", s.spent)
	}
}

func TestARunThatNeverBeginsLeavesNoBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 70, 24)
		d := NewTerminal(v, v.size, 2, 1)
		time.Sleep(time.Minute)
		d.Event(vocab.Event{Type: vocab.EventMessage, Text: "no engine"})
		time.Sleep(time.Minute)
		_ = d.Close()
		screen(t, v, "no engine\n")
	})
}

func TestTimeLeftFollowsThisRunsPace(t *testing.T) {
	begin := time.Unix(0, 0)
	s := newState(0, 1, begin)
	s.apply(vocab.Event{Type: vocab.EventRunStart, Time: begin, Total: 100, Done: 90})
	if _, known := s.left(begin.Add(time.Hour)); known {
		t.Error("a time left is shown before any instance has ended")
	}
	s.apply(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "a", Outcome: "submitted"})
	s.apply(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "b", Outcome: "infrastructure"})
	if d, _ := s.left(begin.Add(10 * time.Minute)); d != 40*time.Minute {
		t.Errorf("left %v, want 40m: two of ten took ten minutes", d)
	}
	if s.done() != 91 || s.failed() != 1 {
		t.Errorf("done %d, failed %d; want 91 and 1", s.done(), s.failed())
	}
}

func TestPendingInstancesAreNotDone(t *testing.T) {
	begin := time.Unix(0, 0)
	now := begin.Add(10 * time.Minute)
	s := newState(6, 2, begin)
	s.apply(vocab.Event{Type: vocab.EventRunStart, Time: begin, Total: 6})
	for _, id := range []string{"a", "b"} {
		s.apply(vocab.Event{Type: vocab.EventInstanceEnd, Instance: id, Status: "Interrupted", Outcome: "pending", Cost: 1, Spent: 2})
	}
	if _, known := s.left(now); known || s.done() != 0 || s.failed() != 0 || s.spent != 2 {
		t.Errorf("done %d, cost %v, time left known: %v; want 0, 2, false", s.done(), s.spent, known)
	}
	if c := s.counts(); len(c) != 1 || c[0] != (tally{"Interrupted", 2}) {
		t.Errorf("counts %v, want both shown as Interrupted", c)
	}
	s.apply(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "b", Status: "Submitted", Outcome: "submitted"})
	if d, _ := s.left(now); d != 50*time.Minute || s.done() != 1 {
		t.Errorf("done %d, left %v; want 1 and 50m for the other five", s.done(), d)
	}
}

func TestPullsAheadOfTheWorkersAreShownUntilTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 70, 24)
		d := NewTerminal(v, v.size, 2, 1)
		defer d.Close()
		d.Event(vocab.Event{Type: vocab.EventPull, Image: "registry/image:tag", Bytes: 1.5e9})
		d.Event(vocab.Event{Type: vocab.EventPull, Image: "other"})
		time.Sleep(soon)
		screen(t, v, `
   0% |                                    | (0/2)  0s  ETA --  $0.00
running 0 of 1
registry/image:tag  pull                                      0s
other               pull                                      0s
`)
		d.Event(vocab.Event{Type: vocab.EventPull, Image: "registry/image:tag", Ended: true})
		d.Event(vocab.Event{Type: vocab.EventPull, Image: "other", Error: "refused"})
		time.Sleep(soon)
		screen(t, v, `
   0% |                                    | (0/2)  0s  ETA --  $0.00
running 0 of 1
`)
	})
}

func TestShortenKeepsTheTail(t *testing.T) {
	for _, c := range []struct {
		in   string
		cols int
		want string
	}{
		{"django__django-11099", 20, "django__django-11099"},
		{"django__django-11099", 10, "...o-11099"},
		{"世界世界", 6, "...界"},
		{"世界世界", 7, "...世界"},
		{"abcd", 3, "..."},
		{"abcd", 1, "."},
		{"abcd", 0, ""},
		{"", 0, ""},
	} {
		if got := shorten(c.in, c.cols); got != c.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", c.in, c.cols, got, c.want)
		}
	}
}

func TestDurationsAndCostsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 59900 * time.Millisecond: "59s", time.Minute: "1m00s", 3*time.Hour + 4*time.Minute: "3h04m",
		49 * time.Hour: "2d01h",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
	for x, want := range map[float64]string{0: "$0.00", 0.0301: "$0.03", 12.345: "$12.35"} {
		if got := printable.Dollars(x); got != want {
			t.Errorf("Dollars(%v) = %q, want %q", x, got, want)
		}
	}
}

// For any text, the output stays within its columns and contains no control character.
func FuzzTextStaysOnItsLine(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "\x1b]0;t\x07x", "\x9b1A", "世界", "e\u0301", "👩‍👩‍👧", "a\u202eb", "\x1b\x1b["} {
		f.Add(s, 9)
	}
	f.Fuzz(func(t *testing.T, s string, cols int) {
		cols = min(max(cols, 0), 200)
		c := printable.Line(s)
		if got := clip(c, cols); width(got) > cols {
			t.Errorf("clip(%q, %d) = %q; want at most %d columns", c, cols, got, cols)
		}
		if got := shorten(c, cols); width(got) > cols {
			t.Errorf("shorten(%q, %d) = %q; want at most %d columns", c, cols, got, cols)
		}
	})
}
