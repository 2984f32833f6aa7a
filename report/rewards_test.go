package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

func TestMeanRewards(t *testing.T) {
	yes, no := true, false
	graded := func(resolved *bool, v vocab.Verdict, rewards map[string]float64) results.Record {
		return results.Record{Outcome: vocab.OutcomeSubmitted, Resolved: resolved, Grade: &grades.Grade{Verdict: v, Rewards: rewards}}
	}
	records := []results.Record{
		graded(&yes, vocab.VerdictResolved, map[string]float64{"reward": 1, "style": 0.1}),
		graded(&no, vocab.VerdictUnresolved, map[string]float64{"correct": 0.5}),
		graded(&no, vocab.VerdictUnresolved, map[string]float64{"a": 1, "b": 1}), // none decides
		graded(&no, vocab.VerdictNoReward, nil),
		{Outcome: vocab.OutcomeInfrastructure, Attempt: 1},
		{Outcome: vocab.OutcomeInfrastructure, Attempt: 1},
		{Outcome: vocab.OutcomePending},
		{Outcome: vocab.OutcomeInfrastructure, Attempt: 1, Quarantined: true},
	}
	// By hand: (1 + 0.5 + 0 + 0) / 4, and the same over 6.
	want := &Rewards{Mean: 0.375, Graded: 4, AsHarbor: 0.25, Failed: 2}
	got := rewardsOf(records)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if text := "mean reward 0.375 of 4 graded; as Harbor counts, with 2 infrastructure failures as 0: 0.250"; got.text() != text {
		t.Errorf("%q, want %q", got.text(), text)
	}
	if got := rewardsOf([]results.Record{graded(&yes, vocab.VerdictResolved, nil)}); got != nil {
		t.Errorf("of verdicts by tests: %+v", got)
	}
}
