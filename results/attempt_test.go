package results_test

import (
	"io"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func TestAResultMayComeAfterItsAttemptWasClosed(t *testing.T) {
	for name, number := range map[string]int{"named by the caller": 1, "not named, as after a panic": 0} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			a, err := s.Begin("a", manifest.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Journal().Append(journal.TypeReply, map[string]any{"cost": 2.0}); err != nil {
				t.Fatal(err)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if rs := s.Records(); len(rs) != 1 || rs[0].Outcome != vocab.OutcomePending || rs[0].Cost != 2 {
				t.Errorf("before: %+v, want 1 record, outcome %v, cost 2", rs, vocab.OutcomePending)
			}
			r := failed("a")
			r.Record.Attempt = number
			if _, err := s.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			put(t, s, result("a", "x"))
			for range 2 {
				rs := s.Records()
				if len(rs) != 2 || rs[0].Outcome != vocab.OutcomeInfrastructure || rs[1].Attempt != 2 || s.Spent() != 2.25 {
					t.Errorf("spent %v, records %+v; want 2 records, outcome %v, attempt 2, spent 2.25",
						s.Spent(), rs, vocab.OutcomeInfrastructure)
				}
				closeStore(t, s)
				s = open(t, dir)
			}
		})
	}
}

func TestTheCostOfTheJournalCountsWhenARecordLacksIt(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Journal().Append(journal.TypeReply, map[string]any{"cost": 2.0}); err != nil {
		t.Fatal(err)
	}
	r := failed("a")
	r.Record.Cost = 0
	if _, err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if rs := s.Records(); len(rs) != 1 || rs[0].Steps != 1 || rs[0].Cost != 2 {
		t.Errorf("records %+v, want the journalled step and its cost", rs)
	}
	closeStore(t, s)
	if got := open(t, dir).Spent(); got != 2 {
		t.Errorf("Spent = %v, want the journalled 2", got)
	}
}

func TestAJournalEndsWithItsAttempt(t *testing.T) {
	s := open(t, t.TempDir())
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin("a", manifest.Settings{}); fault.KindOf(err) != fault.Bug {
		t.Errorf("a second open attempt: %v, want a Bug fault", err)
	}
	if _, err := s.Put(t.Context(), result("a", "x")); err != nil {
		t.Fatal(err)
	}
	if err := a.Journal().Append(journal.TypeOutput, 1); fault.KindOf(err) != fault.Bug {
		t.Errorf("appending after the end: got error %v", err)
	}
}

func TestTheAgentLogContainsNoTerminalEscapes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a, err := s.Begin("i", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"a\x1b[31m\x7f\u009b\n", "caf\xc3", "\xa9\xe2"} {
		if _, err := io.WriteString(a.Log(), part); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if got, want := read(t, dir, "i", "agent.log"), `a\u001b[31m\u007f\u009b`+"\n"+`café\xe2`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
