package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/vocab"
)

func TestATableOfASweep(t *testing.T) {
	yes, no := true, false
	snap := func(owner string, records ...results.Record) *results.Snapshot {
		m := &manifest.Manifest{Model: "p/m", Dataset: manifest.Dataset{Name: "demo", Instances: []string{"a", "b"}}}
		return &results.Snapshot{Dir: "s/x", Manifest: m, Records: records, Spent: 1.5, Owner: owner}
	}
	done := func(id string, resolved *bool) results.Record {
		var grade *grades.Grade
		if resolved != nil {
			grade = &grades.Grade{InstanceID: id, Verdict: vocab.VerdictUnresolved}
		}
		return results.Record{Grade: grade, InstanceID: id, Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Steps: 3, Cost: 0.5, PatchBytes: 9, Resolved: resolved}
	}
	s := NewSweep("runs/\x1b[31ms", []SweepCell{
		NewSweepCell(sweeps.Cell{Folder: "a@1"}, snap("", done("a", &yes), done("b", &no))),
		NewSweepCell(sweeps.Cell{Folder: "a@2"}, snap("host x, pid 1, since 2026-01-02T03:04:05Z", done("a", nil))),
		NewSweepCell(sweeps.Cell{Folder: "b\n@1"}, snap("", done("a", nil))),
		NewSweepCell(sweeps.Cell{Folder: "b@2"}, nil),
	})
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `runs/\u001b[31ms: 4 cells
cost $4.50 with all attempts ever made

cell  with result        resolved  steps   cost      state
----------------------------------------------------------
a@1        2 of 2  1 of 2 (50.0%)      6  $1.00   finished
a@2        1 of 2                      3  $0.50    running
b @1       1 of 2                      3  $0.50     1 left
b@2                                              not begun
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Instances != 6 || s.Results != 4 {
		t.Errorf("%d of %d have a result, want 4 of 6", s.Results, s.Instances)
	}
}

func TestTheCostOfASweepNamesCallsOfUnknownCost(t *testing.T) {
	cell := func(u results.Unanswered) SweepCell {
		r := results.Record{InstanceID: "a", Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Unanswered: u}
		return NewSweepCell(sweeps.Cell{}, &results.Snapshot{Dir: "s/x", Manifest: &manifest.Manifest{}, Records: []results.Record{r}, Spent: u.Held})
	}
	for want, of := range map[string][]results.Unanswered{
		"cost $0.00 with all attempts ever made without 3 calls of unknown cost":           {{Lost: 1, Unpriced: 1}, {Lost: 2, Unpriced: 2}},
		"cost $0.00 with all attempts ever made; up to $1.00 with 3 calls of unknown cost": {{Lost: 1, Held: 1}, {Lost: 2, Unpriced: 2}},
	} {
		var b strings.Builder
		if err := NewSweep("s", []SweepCell{cell(of[0]), cell(of[1])}).Write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
