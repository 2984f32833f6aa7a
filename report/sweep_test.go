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
		NewSweepCell(sweeps.Cell{Folder: "a@1"}, snap("", done("a", &yes), done("b", &no)), Set{}),
		NewSweepCell(sweeps.Cell{Folder: "a@2"}, snap("host x, pid 1, since 2026-01-02T03:04:05Z", done("a", nil)), Set{}),
		NewSweepCell(sweeps.Cell{Folder: "b\n@1"}, snap("", done("a", nil)), Set{}),
		NewSweepCell(sweeps.Cell{Folder: "b@2"}, nil, Set{}),
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
		return NewSweepCell(sweeps.Cell{}, &results.Snapshot{Dir: "s/x", Manifest: &manifest.Manifest{}, Records: []results.Record{r}, Spent: u.Held}, Set{})
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

// A canceled instance is not unfinished work: resume leaves it out.
func TestACanceledInstanceIsNotUnfinished(t *testing.T) {
	snap := &results.Snapshot{
		Dir: "s/x", Manifest: &manifest.Manifest{Command: "run", Dataset: manifest.Dataset{Instances: []string{"a", "b"}}},
		Records: []results.Record{
			{InstanceID: "a", Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted},
			{InstanceID: "b", Attempt: 1, Status: vocab.StatusInterrupted, Outcome: vocab.OutcomePending},
		},
	}
	s := NewStatus(snap).Under(Set{Canceled: []string{"a", "b"}})
	var b strings.Builder
	if err := s.Write(&b, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of 2 instances has a result; 1 was canceled\n", "  b  Interrupted\n    -> it was canceled\n", "  batch retry s/x b  run 1 canceled instance\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "batch resume") || s.Canceled != 1 || s.Instances[0].Canceled || !s.Instances[1].Canceled {
		t.Errorf("canceled %d, instances %+v, in\n%s", s.Canceled, s.Instances, b.String())
	}
	cell := NewSweepCell(sweeps.Cell{Folder: "x"}, snap, Set{Canceled: []string{"b"}})
	if state := cell.state(); state != "finished, 1 canceled" {
		t.Errorf("the cell is %q", state)
	}
	if cell = NewSweepCell(sweeps.Cell{Folder: "x"}, snap, Set{}); cell.state() != "1 left" {
		t.Errorf("without a cancel, the cell is %q", cell.state())
	}
}

// After a kill, a sweep says what a run says: that it was killed, and what continues it.
func TestASweepSaysWhatContinuesIt(t *testing.T) {
	cell := func(folder string, set Set, owner string) SweepCell {
		return NewSweepCell(sweeps.Cell{Folder: folder}, &results.Snapshot{
			Dir: "s/" + folder, Owner: owner, Notes: []string{"the last run crashed or was killed"},
			Manifest: &manifest.Manifest{Dataset: manifest.Dataset{Instances: []string{"a", "b"}}},
		}, set)
	}
	write := func(cells ...SweepCell) string {
		var b strings.Builder
		if err := NewSweep("s", cells).Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	canceled := Set{Canceled: []string{"b"}}
	_, got, _ := strings.Cut(write(cell("x", canceled, ""), cell("y", Set{}, "")), "2 left\n")
	const want = `
1 note on the cells:
    the last run crashed or was killed

next:
  batch resume s     continue with 3 unfinished instances
  batch retry s x/b  run 1 canceled instance
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := write(cell("x", canceled, ""), cell("y", Set{}, "a process")); strings.Contains(got, "next:") {
		t.Errorf("while one works there:\n%s", got)
	}
	if got := write(SweepCell{Cell: sweeps.Cell{Folder: "x"}}); !strings.Contains(got, "  batch resume s  begin the other cells\n") {
		t.Errorf("before it begins:\n%s", got)
	}
}
