package report_test

import (
	"strings"
	"testing"

	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// In a directory that only `batch grade` made, no agent worked, so nothing can be resumed.
func TestADirectoryOfGradesHasNothingToResume(t *testing.T) {
	no := false
	snap := &results.Snapshot{
		Dir:      "graded",
		Manifest: &manifest.Manifest{Command: "grade", Dataset: manifest.Dataset{Name: "demo", Instances: []string{"a__b-1"}}},
		Records: []results.Record{{
			InstanceID: "a__b-1", Model: "empty", Status: vocab.StatusUnknown, Outcome: vocab.OutcomeInfrastructure,
			Grade: &grades.Grade{InstanceID: "a__b-1", Verdict: vocab.VerdictUnresolved}, Resolved: &no,
		}},
	}
	var got strings.Builder
	if err := report.NewStatus(snap).Write(&got, false); err != nil {
		t.Fatal(err)
	}
	want := `graded: demo, model empty

verdict     predictions
-----------------------
unresolved            1
-----------------------
total                 1

resolved 0 of 1 graded (0.0%), 1 of 1 prediction graded
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
