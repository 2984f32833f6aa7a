package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func TestTheStatusAsJSONHasTheVerdicts(t *testing.T) {
	snap := gradedSnapshot()
	snap.Records[0].Grade.PassToPass = grades.Tests{Passed: []string{"p"}, Failed: []string{"q"}}
	text, err := json.Marshal(report.NewStatus(snap))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Graded, Resolved int
		Grading          report.Grading
		Instances        []struct {
			ID          string `json:"instance_id"`
			Quarantined bool
			Grade       *struct {
				Verdict    string
				PassToPass grades.Tests `json:"PASS_TO_PASS"`
			}
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	g := s.Grading
	if s.Graded != 20 || s.Resolved != 2 || g.Predictions != 24 || g.Graded != 20 || g.Resolved != 2 || g.NotGraded != 1 {
		t.Errorf("graded %d, resolved %d, grading %+v; want 20, 2, and the same of 24 predictions", s.Graded, s.Resolved, g)
	}
	sum := g.NotGraded
	for _, v := range g.Verdicts {
		sum += v.Predictions
	}
	if sum != g.Predictions || len(g.Verdicts) != len(vocab.Verdicts()) {
		t.Errorf("verdicts %+v; want each of them, %d in all", g.Verdicts, g.Predictions)
	}
	if len(g.Suspicious) != 7 || len(g.Suspicious[6].Reasons) != 2 || len(g.Unstable) != 1 || len(g.Unstable[0].Verdicts) != 3 {
		t.Errorf("suspicious %+v, unstable %+v; want 7 and 1", g.Suspicious, g.Unstable)
	}
	if d := cmp.Diff([]string{"other__tool-1"}, g.Excused); d != "" {
		t.Errorf("excused (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"org__quarantined-0", "org__quarantined-1"}, g.Quarantined); d != "" {
		t.Errorf("quarantined (-want +got):\n%s", d)
	}
	for _, in := range s.Instances {
		if in.ID == snap.Records[0].InstanceID && (in.Grade.Verdict != "resolved" || len(in.Grade.PassToPass.Failed) != 1 || in.Grade.PassToPass.Passed != nil) {
			t.Errorf("%+v: want the verdict and only the failing test", in.Grade)
		}
	}
	if len(snap.Records[0].Grade.PassToPass.Passed) != 1 {
		t.Error("the snapshot was changed")
	}
}

func TestWithoutGradesNothingIsSaidOfThem(t *testing.T) {
	text, err := json.Marshal(report.NewStatus(&results.Snapshot{Dir: "x", Records: []results.Record{{InstanceID: "a", Attempt: 1}}}))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil || members["grading"] != nil {
		t.Errorf("%v, grading %v; want no such member", err, members["grading"])
	}
}

// In a directory that only `batch grade` made, no agent worked, so nothing can be resumed.
func TestADirectoryOfGradesHasNothingToResume(t *testing.T) {
	no := false
	snap := &results.Snapshot{
		Dir:      "graded",
		Manifest: &manifest.Manifest{Command: "grade", Dataset: manifest.Dataset{Name: "demo", Instances: []string{"a__b-1"}}},
		Records: []results.Record{{
			InstanceID: "a__b-1", Model: "empty", Status: vocab.StatusUnknown, Outcome: vocab.OutcomeSubmitted,
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
