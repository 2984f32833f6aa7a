package steering

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/run/control"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// steered is the steering of two cells with the instances a and b.
func steered(t *testing.T) (*Steering, *control.Log) {
	t.Helper()
	log, err := control.OpenLog(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var parts []*Part
	for _, name := range []string{"x", "y"} {
		parts = append(parts, &Part{
			Name: name, IDs: []string{"a", "b", name}, Halts: new(runner.Halts), Finished: func(id string) bool { return id == "b" },
			Again: func(string) error { return nil },
		})
		parts[len(parts)-1].Halts.Queue("a", name)
	}
	none := func() float64 { return 0 }
	s := New(Config{Kind: control.KindSweep, Log: log, Width: runner.NewWidth(2), Limit: 10, Parts: parts, Cost: none, Spent: none})
	s.Given = &control.Begin{}
	s.say, s.drain, s.stop = func(string) {}, func() {}, func() {}
	return s, log
}

func TestNamesOfInstances(t *testing.T) {
	s, _ := steered(t)
	for name, want := range map[string]string{
		"x/a": "x/a", "y": "y/y", "a": "in 2 cells", "c": "no instance c", "z/a": "no instance z/a", "x/y": "no instance x/y",
	} {
		c, err := s.Check(control.Command{Verb: control.Cancel, Instance: name})
		got := c.Instance
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestChecks(t *testing.T) {
	s, _ := steered(t)
	for _, c := range []struct {
		cmd  control.Command
		want string // in the error; empty: none
	}{
		{control.Command{Verb: control.Cancel, Instance: "x/b"}, "has a result"},
		{control.Command{Verb: control.Say, Instance: "x/b", Text: "t"}, "has a result"},
		{control.Command{Verb: control.Say, Instance: "x/a", Text: "t"}, ""},
		{control.Command{Verb: control.Requeue, Instance: "x/b"}, ""},
		{control.Command{Verb: control.Requeue, Instance: "x/a"}, "has not begun"},
		{control.Command{Verb: control.SetBudget, Budget: -11, Add: true}, "the limit is"},
		{control.Command{Verb: control.SetLimit, Limit: control.Limit{"steps": 3}}, ""},
	} {
		_, err := s.Check(c.cmd)
		if c.want == "" && err != nil || c.want != "" && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, want %q", c.cmd.Verb, c.cmd.Instance, err, c.want)
		}
	}
	c, err := s.Check(control.Command{Verb: control.SetBudget, Budget: 5, Add: true})
	if err != nil || c.Budget != 15 || c.Add {
		t.Errorf("+5 is %+v, %v", c, err)
	}
}

func TestAStatusHasTheQueueAndWhatWasKept(t *testing.T) {
	s, _ := steered(t)
	s.workers.event(vocab.Event{Type: vocab.EventRunStart, Done: 2, Total: 6})
	s.workers.event(vocab.Event{Type: vocab.EventInstanceStart, Cell: "x", Instance: "a"})
	s.workers.event(vocab.Event{Type: vocab.EventInstanceEnd, Cell: "x", Instance: "a", Outcome: vocab.OutcomeSubmitted})
	s.Parts[1].Halts.Halt("a")
	st := s.Status(true)
	if got := strings.Join(st.Queued, " "); got != "x/a x/x y/y" || st.Kept != 2 || st.Done != 3 {
		t.Errorf("queued %s, kept %d of %d", got, st.Kept, st.Done)
	}
}

// An instance that waits, because it was requeued, is not requeued a second time.
func TestARequeueOfAQueuedInstanceIsRefused(t *testing.T) {
	s, _ := steered(t)
	p := s.Parts[0]
	finished := map[string]bool{"b": true}
	p.Finished = func(id string) bool { return finished[id] }
	p.Again = func(id string) error {
		delete(finished, id)
		p.Halts.Release(id, func() bool { return true })
		return nil
	}
	c := control.Command{ID: "1", Verb: control.Requeue, Instance: "x/b"}
	if _, err := s.Check(c); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(control.NewRecord(c)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(c); err == nil || !strings.Contains(err.Error(), "has not begun") {
		t.Errorf("the second requeue: %v", err)
	}
	p.Halts.Halt("b")
	if _, err := s.Check(c); err != nil {
		t.Errorf("after it was canceled: %v", err)
	}
}

// A requeue that is refused is not carried out later, and does not change the counts.
func TestARefusedRequeueIsForgotten(t *testing.T) {
	s, log := steered(t)
	p := s.Parts[0]
	s.watch(rundir.View{}).Event(vocab.Event{Type: vocab.EventRunStart, Done: 1, Total: 6})
	refusal := fault.Newf(fault.Usage, "no instance has begun yet")
	p.Takes = func() error { return refusal }
	c := control.Command{Verb: control.Requeue, Instance: "x/b"}
	if _, err := s.Check(c); !errors.Is(err, refusal) {
		t.Errorf("checked: %v", err)
	}
	for id, lost := range map[string]error{"refused": refusal, "failed": fault.Newf(fault.Host, "disk full")} {
		c.ID = id
		p.Again = func(string) error { return lost }
		r, err := log.Add(control.NewRecord(c))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(r); !errors.Is(err, lost) {
			t.Errorf("%s: %v", id, err)
		}
		if n := len(log.InForce().Requeued); (n == 1) != (id == "failed") {
			t.Errorf("%s: %d requeues are in force", id, n)
		}
	}
	if st := s.Status(false); st.Done != 1 {
		t.Errorf("done: %d, want 1", st.Done)
	}
}

func TestADrainEndsAPauseAndStays(t *testing.T) {
	s, _ := steered(t)
	apply := func(v control.Verb) {
		t.Helper()
		if _, err := s.Apply(control.Record{Command: control.Command{Verb: v}}); err != nil {
			t.Fatal(err)
		}
	}
	apply(control.Pause)
	if !s.Pause().On() || s.Status(false).State != control.Paused {
		t.Errorf("paused: %v, %s", s.Pause().On(), s.Status(false).State)
	}
	apply(control.Drain)
	if s.Pause().On() || s.Status(false).State != control.Draining || !s.Drained() {
		t.Errorf("drained: paused %v, %s", s.Pause().On(), s.Status(false).State)
	}
	if _, err := s.Check(control.Command{Verb: control.Pause}); err == nil {
		t.Error("a pause after a drain is not refused")
	}
	apply(control.Stop)
	if s.Status(false).State != control.Stopping {
		t.Error(s.Status(false).State)
	}
}

// A drain may come between the check of a command and the command.
func TestAPauseAfterADrainHoldsNothing(t *testing.T) {
	for _, v := range []control.Verb{control.Pause, control.Resume} {
		s, _ := steered(t)
		if _, err := s.Check(control.Command{Verb: v}); err != nil {
			t.Fatal(err)
		}
		s.enter(control.Draining)
		_, err := s.Apply(control.Record{Command: control.Command{Verb: v}})
		if fault.KindOf(err) != fault.Usage || s.Pause().On() || s.Status(false).State != control.Draining {
			t.Errorf("%s: error %v, paused %v, %s", v, err, s.Pause().On(), s.Status(false).State)
		}
	}
}

func TestALimitThatIsReached(t *testing.T) {
	s, _ := steered(t)
	s.Cost, s.Spent = func() float64 { return 1.5 }, func() float64 { return 2 }
	const want = "$1.50 is spent already; up to $2.00 with calls of unknown cost" // in the words of a status
	if _, err := s.Check(control.Command{Verb: control.SetBudget, Budget: 1.8}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("between what is spent and what may be: %v, want %q", err, want)
	}
	for dollars, refused := range map[float64]bool{0: false, 1: true, 2: true, 2.5: false} {
		_, err := s.Check(control.Command{Verb: control.SetBudget, Budget: dollars})
		if refused && fault.KindOf(err) != fault.Usage || !refused && err != nil {
			t.Errorf("budget %v: %v", dollars, err)
		}
	}
	if _, err := s.Check(control.Command{Verb: control.SetBudget, Budget: -9, Add: true}); fault.KindOf(err) != fault.Usage {
		t.Errorf("budget -9 of 10: %v", err)
	}
	b := runner.NewBudget(10, 10, 1)
	s.Opened(b)
	requeue := control.Command{Verb: control.Requeue, Instance: "x/b"}
	if _, err := s.Check(requeue); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "limit is reached") {
		t.Errorf("requeue: %v", err)
	}
	b.SetLimit(20)
	if _, err := s.Check(requeue); err != nil {
		t.Errorf("requeue after the limit was raised: %v", err)
	}
}

func TestAMessageIsHeardOnce(t *testing.T) {
	s, log := steered(t)
	p := s.Parts[0]
	r, err := log.Add(control.NewRecord(control.Command{ID: "m", Verb: control.Say, Instance: "x/a", Text: "t"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(r); err != nil || len(s.Said(p, "a")) != 1 || len(s.Said(s.Parts[1], "a")) != 0 {
		t.Fatalf("said %v, error %v", s.Said(p, "a"), err)
	}
	for range 2 {
		if err := s.Heard(p, "m"); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Said(p, "a")) != 0 || len(log.InForce().Said) != 0 {
		t.Errorf("after it was heard: %v, %v", s.Said(p, "a"), log.InForce().Said)
	}
}

func TestAMessageThatIsNotReadIsDropped(t *testing.T) {
	s, log := steered(t)
	var shown []string
	s.say, s.log = func(text string) { shown = append(shown, text) }, slog.New(slog.DiscardHandler)
	for _, id := range []string{"x/a", "y/a"} {
		r, err := log.Add(control.NewRecord(control.Command{ID: id, Verb: control.Say, Instance: id, Text: "t"}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	shown = nil
	x := s.watch(rundir.View{}).Cell("x")
	for _, outcome := range []vocab.Outcome{vocab.OutcomeInfrastructure, vocab.OutcomeSubmitted} { // what failed may run again
		if len(s.Said(s.Parts[0], "a")) != 1 || len(shown) != 0 {
			t.Fatalf("before %v: said %v, shown %q", outcome, s.Said(s.Parts[0], "a"), shown)
		}
		x.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: "a"})
		x.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "a", Outcome: outcome})
	}
	if left := log.InForce().Said; len(left) != 1 || left[0].Instance != "y/a" || len(s.Said(s.Parts[0], "a")) != 0 {
		t.Errorf("in force: %v; want the message for the other cell", left)
	}
	if len(shown) != 1 || !strings.Contains(shown[0], "say x/a: the attempt ended before") {
		t.Errorf("shown: %q", shown)
	}
}

// An attempt may end while a message to it is put on record.
func TestAMessageThatComesTooLateIsRefused(t *testing.T) {
	for name, end := range map[string]func(s *Steering, x rundir.View){
		"the pool says so": func(_ *Steering, x rundir.View) {
			x.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: "a"})
			x.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "a", Outcome: vocab.OutcomeSubmitted})
		},
		"the result is there": func(s *Steering, _ rundir.View) { s.Parts[0].Finished = func(string) bool { return true } },
	} {
		s, log := steered(t)
		c := control.Command{ID: "late", Verb: control.Say, Instance: "x/a", Text: "t"}
		if _, err := s.Check(c); err != nil {
			t.Fatal(err)
		}
		r, err := log.Add(control.NewRecord(c))
		if err != nil {
			t.Fatal(err)
		}
		end(s, s.watch(rundir.View{}).Cell("x"))
		if _, err := s.Apply(r); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "ended before the agent read") {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.Said(s.Parts[0], "a")) != 0 || len(log.InForce().Said) != 0 {
			t.Errorf("%s: said %v, in force %v", name, s.Said(s.Parts[0], "a"), log.InForce().Said)
		}
	}
}

func TestTheStateOfWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := steered(t)
		v := s.watch(rundir.View{})
		v.Event(vocab.Event{Type: vocab.EventRunStart, Done: 2, Total: 6})
		x := v.Cell("x")
		event := func(typ vocab.EventType, id string, e vocab.Event) {
			e.Type, e.Instance, e.Attempt = typ, id, 1
			x.Event(e)
		}
		event(vocab.EventInstanceStart, "a", vocab.Event{})
		event(vocab.EventInstanceStart, "x", vocab.Event{})
		event(vocab.EventPhase, "a", vocab.Event{Phase: "commands", Step: 3, Doing: "make"})
		time.Sleep(control.StalledAfter + time.Second)
		event(vocab.EventCallRetry, "x", vocab.Event{Step: 1, Wait: time.Minute, RateLimited: true, Error: "429"})
		st := s.Status(true)
		if st.Running != 2 || st.Done != 2 || st.Total != 6 || len(st.Workers) != 2 {
			t.Fatalf("%+v", st)
		}
		a, b := st.Workers[0], st.Workers[1]
		if a.Instance != "a" || !a.Stalled || a.Doing != "make" || st.Now.Sub(a.Since) < control.StalledAfter {
			t.Errorf("a: %+v", a)
		}
		if b.Stalled || b.Waiting != "rate limit" || b.Until == nil || b.Reason != "429" || b.Phase != "start" {
			t.Errorf("x: %+v", b)
		}
		for _, w := range s.Status(false).Workers {
			if w.Doing != "" || w.Reason != "" {
				t.Errorf("content was not asked for: %+v", w)
			}
		}
		x.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "a", Outcome: vocab.OutcomeSubmitted})
		x.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "x", Outcome: vocab.OutcomeInfrastructure})
		event(vocab.EventPhase, "x", vocab.Event{Phase: "finish"}) // too late
		if st = s.Status(false); st.Running != 0 || st.Done != 3 || st.Failed != 1 {
			t.Errorf("at the end: %+v", st)
		}
		event(vocab.EventInstanceStart, "a", vocab.Event{})
		if st = s.Status(false); st.Done != 2 || st.Running != 1 {
			t.Errorf("again: %+v", st)
		}
	})
}

// A text is cut after its secrets are hidden, since a part of one would not be recognized.
func TestNoSecretIsShown(t *testing.T) {
	const secret = "sk-0123456789abcdefghij"
	s, log := steered(t)
	s.Mask = mask.New(mask.Secret{Value: secret, Name: "KEY"})
	s.workers.init(s.Mask)
	v := s.watch(rundir.View{})
	v.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: "a"})
	if _, err := log.Add(control.NewRecord(control.Command{ID: "m", Verb: control.Say, Instance: "a", Text: "use " + secret})); err != nil {
		t.Fatal(err)
	}
	for n := control.MaxDoing - len(secret); n <= control.MaxDoing; n++ {
		v.Event(vocab.Event{Type: vocab.EventPhase, Instance: "a", Doing: strings.Repeat("x", n) + secret + strings.Repeat("é", 99)})
		st := s.Status(true)
		if doing := st.Workers[0].Doing; strings.Contains(doing, "sk") || len(doing) > control.MaxDoing || !utf8.ValidString(doing) {
			t.Fatalf("after %d bytes: %q", n, doing[n-5:])
		}
		if text := st.Recent[0].Text; !strings.HasPrefix(text, "use ") || strings.Contains(text, secret) {
			t.Fatal(text)
		}
	}
	for _, text := range []string{strings.Repeat("\x80", 3000), strings.Repeat("xé", 3000)} {
		if got := cut(text); !strings.HasPrefix(text, got) || utf8.ValidString(text) && (!utf8.ValidString(got) || len(got) < control.MaxDoing-3) {
			t.Errorf("%q", got)
		}
	}
}

// A directory in which no socket can be made does not stop the work.
func TestWorkWithoutASocket(t *testing.T) {
	s, _ := steered(t)
	s.Dir = t.TempDir() + "/gone"
	var log strings.Builder
	_, end := s.Begin(rundir.View{}, slog.New(slog.NewTextHandler(&log, nil)), func() {}, func() {}, nil)
	end()
	if !strings.Contains(log.String(), "cannot watch or control") {
		t.Error(log.String())
	}
	if _, err := os.Stat(s.Dir); err == nil {
		t.Error("the directory was made")
	}
}
