package scores_test

import (
	"strings"
	"testing"

	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/vocab"
)

// If the costs of some calls are missing, means and gates of costs say so.
func TestCostsThatMissCallsAreNamed(t *testing.T) {
	record := func(id string, u results.Unanswered) results.Record {
		return results.Record{InstanceID: id, Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Unanswered: u}
	}
	for want, records := range map[string][]results.Record{
		"": {record("a", results.Unanswered{}), record("b", results.Unanswered{Lost: 2})},
		"its costs are without 3 calls of unknown cost, up to $0.50 together": {record("a", results.Unanswered{Lost: 1, Held: 0.5}), record("b", results.Unanswered{Lost: 2, Unpriced: 1})},
		"its costs are without 2 calls of unknown cost":                       {record("a", results.Unanswered{Lost: 1, Unpriced: 1}), record("b", results.Unanswered{Lost: 1, Unpriced: 1})},
		"its costs are without calls of unknown cost, up to $0.50 together":   {record("a", results.Unanswered{Held: 0.5})},
	} {
		if got := strings.Join(scores.FromSnapshot(&results.Snapshot{Records: records}).Notes, "; "); got != want {
			t.Errorf("notes %q, want %q", got, want)
		}
	}
}
