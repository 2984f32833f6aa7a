package run

import (
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

func TestAChoiceWithoutInstancesNamesTheirStatuses(t *testing.T) {
	snap := &results.Snapshot{Dir: "out", Records: []results.Record{
		{InstanceID: "a", Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeEmpty},
		{InstanceID: "b", Attempt: 1, Status: vocab.StatusLimitsExceeded, Outcome: vocab.OutcomeLimit},
	}}
	_, err := Choice{Statuses: []string{"Nothing"}}.From(snap)
	const want = "its instances have: empty: Submitted, limit: LimitsExceeded"
	if fault.KindOf(err) != fault.Usage || fault.HintOf(err) != want {
		t.Errorf("%v: hint %q, want a Usage fault with %q", err, fault.HintOf(err), want)
	}
}
