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

// A run has settings; a directory of batch grade has none. These are not reported as differences.
func TestADirectoryOfGradesHasNoSettingsToCompare(t *testing.T) {
	run := &results.Snapshot{Dir: "run", Manifest: &manifest.Manifest{
		Command: "run", Model: "m", Config: map[string]any{"agent": map[string]any{"step_limit": 5}}, Dataset: manifest.Dataset{Digest: "d"},
	}}
	graded := &results.Snapshot{Dir: "graded", Manifest: &manifest.Manifest{Command: "grade", Dataset: manifest.Dataset{Digest: "d"}}}
	for digest, want := range map[string]string{"d": "datasets: no difference\n", "e": "datasets (A -> B):\n  dataset.digest: d -> e\n"} {
		graded.Manifest.Dataset.Digest = digest
		var got strings.Builder
		if err := report.NewDiff(run, graded, report.DiffOptions{}).Write(&got); err != nil {
			t.Fatal(err)
		}
		want = "\nsettings are not compared: batch grade made graded out of predictions\n" + want
		if !strings.Contains(got.String(), want) || strings.Contains(got.String(), "not set") {
			t.Errorf("got\n%s\nwant\n%s", got.String(), want)
		}
	}
}

// For a prediction without a run, only the verdict is known.
func TestAPredictionIsComparedByItsVerdict(t *testing.T) {
	side := func(status vocab.Status, v vocab.Verdict) *results.Snapshot {
		resolved := v == vocab.VerdictResolved
		return &results.Snapshot{Dir: "d", Manifest: &manifest.Manifest{Dataset: manifest.Dataset{Instances: []string{"a__b-1"}}}, Records: []results.Record{{
			InstanceID: "a__b-1", Status: status, Outcome: vocab.OutcomeSubmitted, Resolved: &resolved,
			Grade: &grades.Grade{InstanceID: "a__b-1", Verdict: v},
		}}}
	}
	var got strings.Builder
	diff := report.NewDiff(side(vocab.StatusSubmitted, vocab.VerdictUnresolved), side(vocab.StatusUnknown, vocab.VerdictResolved), report.DiffOptions{})
	if err := diff.Write(&got); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), "\nSubmitted, unresolved  resolved              1\n") {
		t.Errorf("got\n%s", got.String())
	}
}
