package progress

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/vocab"
)

func TestLinesShowStartsEndsAndSummaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := NewLines(&b)
		l.Event(vocab.Event{Type: vocab.EventRunStart, Total: 3, Done: 1, Cost: 0.5})
		l.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: "one", Attempt: 1})
		l.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: "two\n\x1b[2J", Attempt: 2})
		for step := range 65 {
			l.Event(vocab.Event{Type: vocab.EventPhase, Instance: "one", Phase: "model", Step: step, Cost: 0.01, Spent: 0.51})
			time.Sleep(time.Second)
		}
		l.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "one", Status: "Submitted", Outcome: "submitted", Step: 65, Cost: 0.02, Spent: 0.52})
		l.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "two\n\x1b[2J", Status: "HostFault", Outcome: "infrastructure", Error: "engine gone:\nEOF"})
		l.Event(vocab.Event{Type: vocab.EventMessage, Text: "draining"})
		l.Event(vocab.Event{Type: vocab.EventRunEnd})
		for range 2 {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		l.Event(vocab.Event{Type: vocab.EventMessage, Text: "too late"})
		want := `
00:00:00 running 2 instances; 1 of 3 has a result already
00:00:00 start one
00:00:00 start two \u001b[2J (attempt 2)
00:00:30 1/3 done, 2 running, $0.51, elapsed 30s
00:01:00 1/3 done, 2 running, $0.51, elapsed 1m00s
00:01:05 end one: Submitted, 65 steps, $0.02, 1m05s [2/3]
00:01:05 end two \u001b[2J: HostFault, 0 steps, $0.00, 1m05s [2/3]: engine gone: EOF
00:01:05 draining
00:01:05 2/3 done, 1 failed and will be retried, $0.52, elapsed 1m05s; HostFault 1, Submitted 1
`
		if d := cmp.Diff(want, "\n"+b.String()); d != "" {
			t.Errorf("lines differ (-want +got):\n%s", d)
		}
	})
}

func TestLinesEndWithOneSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := NewLines(&b)
		l.Event(vocab.Event{Type: vocab.EventRunStart, Total: 1})
		l.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: "one"})
		time.Sleep(time.Minute)
		l.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "one", Status: "Submitted", Outcome: "submitted"})
		l.Event(vocab.Event{Type: vocab.EventRunEnd})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "1/1 done"); n != 1 {
			t.Errorf("%d lines say that all is done, want 1:\n%s", n, b.String())
		}
	})
}

func TestLinesCountWhatNeedsACorrection(t *testing.T) {
	var b bytes.Buffer
	l := NewLines(&b)
	l.Event(vocab.Event{Type: vocab.EventRunStart, Total: 3})
	for id, status := range map[string]vocab.Status{"a": vocab.StatusHostFault, "b": vocab.StatusUsageFault, "c": vocab.StatusInstanceFault} {
		l.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: id})
		l.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: id, Status: status, Outcome: vocab.OutcomeInfrastructure})
	}
	l.Event(vocab.Event{Type: vocab.EventRunEnd})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if want := " 0/3 done, 1 failed and will be retried, 2 failed and need a correction, "; !strings.Contains(b.String(), want) {
		t.Errorf("want %q in\n%s", want, b.String())
	}
}

func TestLinesOfARunThatDidNotBeginHaveNoSummary(t *testing.T) {
	var b bytes.Buffer
	l := NewLines(&b)
	if err := l.Close(); err != nil || b.Len() > 0 {
		t.Errorf("got %q, %v; want nothing, no error", b.String(), err)
	}
}

func TestLinesNameVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := NewLines(&b)
		l.Event(vocab.Event{Type: vocab.EventRunStart, Total: 1, Grading: true, Model: "m", Workers: 1})
		l.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "one", Result: "no_apply", Outcome: "submitted"})
		l.Event(vocab.Event{Type: vocab.EventRunEnd})
		_ = l.Close()
		want := `
00:00:00 grading 1 prediction of m, 1 at once
00:00:00 end one: patch does not apply [1/1]
00:00:00 1/1 done, elapsed 0s; patch does not apply 1
`
		if d := cmp.Diff(want, "\n"+b.String()); d != "" {
			t.Errorf("lines differ (-want +got):\n%s", d)
		}
	})
}

func TestASlowReaderBlocksNobodyAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{make(chan struct{})}
		j := NewJSON(s)
		for range 1000 {
			j.Event(vocab.Event{Type: vocab.EventMessage, Text: "m"})
		}
		closed := make(chan error)
		go func() { closed <- j.Close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close returned before everything was written")
		default:
		}
		close(s.free)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func TestAWriteErrorComesOutOfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broken{}
		j := NewJSON(b)
		for range 10 {
			j.Event(vocab.Event{Type: vocab.EventMessage, Text: "m"})
			synctest.Wait()
		}
		if err := j.Close(); !errors.Is(err, errGone) || b.writes != 1 {
			t.Errorf("Close: %v after %d writes, want %v after one", err, b.writes, errGone)
		}
	})
}

// A provider that refuses the run's calls refuses them for all instances and for the same reason.
func TestTheReasonForWhatWasNotRunIsSaidOnce(t *testing.T) {
	var b bytes.Buffer
	l := NewLines(&b)
	for _, id := range []string{"one", "two"} {
		l.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: id, Attempt: 1})
	}
	for _, id := range []string{"one", "two"} {
		l.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: id, Status: "not run", Outcome: "pending", Error: "no such key"})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.Count(text, "no such key") != 1 || strings.Count(text, ": not run, 0 steps") != 2 || strings.Contains(text, "retried") {
		t.Errorf("got %s\nwant two ends, and the reason once", text)
	}
}
