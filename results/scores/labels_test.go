package scores_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/results"
	"batch.example/batch/results/notes"
	"batch.example/batch/results/scores"
)

func TestLabelsAreOfInstancesAndOfTheAttemptsThatCount(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []notes.Note{
		{Instance: "a", Label: "whole"},
		{Instance: "a", Attempt: 1, Label: "earlier"},
		{Instance: "a", Attempt: 2, Step: 3, Label: "step"},
		{Instance: "a", Attempt: 2, Step: 4, Label: "step", Text: "again"},
		{Instance: "a", Text: "without a label"},
		{Instance: "foreign", Step: 1, Label: "step"},
	} {
		if _, err := notes.Add(dir, n); err != nil {
			t.Fatal(err)
		}
	}
	run := scores.FromSnapshot(&results.Snapshot{Dir: dir, Records: []results.Record{{InstanceID: "a", Attempt: 1}, {InstanceID: "a", Attempt: 2}}})
	sides := []scores.Side{{Runs: []scores.Run{run, {Path: "report.json"}}}}
	if err := scores.ReadLabels(sides); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"a": {"whole", "step"}, "foreign": {"step"}}
	if diff := cmp.Diff(want, sides[0].Runs[0].Labels); diff != "" || sides[0].Runs[1].Labels != nil {
		t.Errorf("labels (-want +got):\n%s\nof a report: %v", diff, sides[0].Runs[1].Labels)
	}
	if err := os.WriteFile(notes.Path(dir), []byte("damaged\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := scores.ReadLabels(sides); err != nil {
		t.Errorf("a file without a whole line: %v", err)
	}
}
