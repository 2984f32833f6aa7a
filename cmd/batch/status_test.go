package main

import (
	"bytes"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

func TestStatusPrintsTheIDsOfAWord(t *testing.T) {
	record := func(id string, status vocab.Status, outcome vocab.Outcome, verdict vocab.Verdict) results.Record {
		r := results.Record{InstanceID: id, Attempt: 1, Status: status, Outcome: outcome}
		if verdict != "" {
			r.Grade = &grades.Grade{Verdict: verdict}
		}
		return r
	}
	status := report.NewStatus(&results.Snapshot{Dir: "out", Records: []results.Record{
		record("a", vocab.StatusSubmitted, vocab.OutcomeSubmitted, vocab.VerdictResolved),
		record("b", vocab.StatusSubmitted, vocab.OutcomeSubmitted, vocab.VerdictUnresolved),
		record("c", vocab.StatusSubmitted, vocab.OutcomeEmpty, vocab.VerdictEmpty),
		record("d", vocab.StatusLimitsExceeded, vocab.OutcomeLimit, vocab.VerdictUnresolved),
		record("e", vocab.StatusHostFault, vocab.OutcomeInfrastructure, ""),
		record("f", "AnotherToolsStatus", vocab.OutcomeInfrastructure, ""),
	}})
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"unresolved"}, "b\nd\n"},
		{[]string{"resolved", "empty_patch"}, "a\nc\n"},
		{[]string{"submitted"}, "a\nb\n"},
		{[]string{"Submitted"}, "a\nb\nc\n"},
		{[]string{"infrastructure"}, "e\nf\n"},
		{[]string{"AnotherToolsStatus"}, "f\n"},
		{[]string{"timed_out"}, ""},
	} {
		var out bytes.Buffer
		a := &app{stdout: &out}
		if err := a.printIDs(status.Instances, c.words); err != nil || out.String() != c.want {
			t.Errorf("%q: %q, %v; want %q", c.words, out.String(), err, c.want)
		}
	}
	var out bytes.Buffer
	if err := (&app{stdout: &out}).printIDs(status.Instances, []string{"resolved", "solved"}); fault.KindOf(err) != fault.Usage || out.Len() > 0 {
		t.Errorf("an unknown word: %v, printed %q; want a Usage fault and nothing", err, &out)
	}
}
