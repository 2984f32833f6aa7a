package compare_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/report/compare"
	"batch.example/batch/results/scores"
)

// labeledEntries have hostile labels, labels on a single attempt, and an instance that is not
// in the scores.
func labeledEntries() []scores.Side {
	a, b := entry("base", "ynigq", "nnyyy"), entry("new", "yyyyy")
	a.Runs[0].Labels = map[string][]string{
		"r0__p-00": {"flaky"}, "r1__p-01": {"flaky", "gave-up"}, "r2__p-02": {"flaky"}, "r0__p-04": {"flaky"}, "unknown": {"flaky"},
	}
	a.Runs[1].Labels = map[string][]string{"r0__p-00": {"flaky", "wrong|`@me\x1b[31m<b>"}, "r2__p-02": {"second"}}
	b.Runs[0].Labels = map[string][]string{"r1__p-01": {"gave-up"}}
	return []scores.Side{a, b}
}

func TestInstancesAreCountedByLabel(t *testing.T) {
	c := compare.New(labeledEntries(), compare.Options{ByLabel: true})
	want := [][]compare.Labeled{{
		{Label: "flaky", Instances: 5, Resolved: 0.5, Unresolved: 1.5, LeftOut: 3}, // 0 is resolved once, 1 is not, 2 has no score with the label, 4 is quarantined
		{Label: "gave-up", Instances: 1, Unresolved: 1},
		{Label: "second", Instances: 1, Resolved: 1},
		{Label: "wrong|`@me\x1b[31m<b>", Instances: 1, Unresolved: 1},
	}, {
		{Label: "gave-up", Instances: 1, Resolved: 1},
	}}
	if diff := cmp.Diff(want, [][]compare.Labeled{c.Entries[0].Labels, c.Entries[1].Labels}); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	one := compare.NewOne(labeledEntries()[1], compare.Options{ByLabel: true})
	if diff := cmp.Diff(want[1], one.Entry.Labels); diff != "" {
		t.Errorf("of one entry (-want +got):\n%s", diff)
	}
	if c := compare.New(labeledEntries(), compare.Options{}); c.Entries[0].Labels != nil {
		t.Errorf("labels without the option: %v", c.Entries[0].Labels)
	}
}
