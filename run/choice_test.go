package run

import (
	"slices"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

func TestAChoiceWithoutInstancesNamesTheirStatuses(t *testing.T) {
	snap := &results.Snapshot{Dir: "out", Records: []results.Record{
		{InstanceID: "a", Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeEmpty},
		{InstanceID: "b", Attempt: 1, Status: vocab.StatusLimitsExceeded, Outcome: vocab.OutcomeLimit, Grade: &grades.Grade{Verdict: vocab.VerdictUnresolved}},
	}}
	for _, c := range []struct {
		choice Choice
		says   string
		hint   string
	}{
		{Choice{Statuses: []string{"Nothing"}}, "no instance of out matches --status Nothing", "its instances have: empty: Submitted, limit: LimitsExceeded (unresolved)"},
		{Choice{Verdicts: []string{"resolved"}}, "no instance of out matches --verdict resolved", "its instances have: empty: Submitted, limit: LimitsExceeded (unresolved)"},
		{Choice{Verdicts: []string{"solved"}}, `unknown verdict "solved"`, "verdicts are resolved, unresolved, no_apply, empty_patch, timed_out, no_reward, infrastructure, ungradeable"},
		{Choice{Outcomes: []string{"unresolved"}}, `unknown outcome "unresolved"`, "outcomes are submitted, empty, limit, format, failed, infrastructure, pending, diverged"},
	} {
		_, err := c.choice.From(snap)
		if fault.KindOf(err) != fault.Usage || err.Error() != c.says || fault.HintOf(err) != c.hint {
			t.Errorf("%v: hint %q, want a Usage fault %q with %q", err, fault.HintOf(err), c.says, c.hint)
		}
	}
	chosen, err := Choice{Verdicts: []string{"resolved", "Unresolved"}, Outcomes: []string{"limit"}}.From(snap)
	if err != nil || !slices.Equal(chosen, []string{"b"}) {
		t.Errorf("the verdict of b chooses %v, %v", chosen, err)
	}
}
