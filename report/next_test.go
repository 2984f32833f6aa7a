package report_test

import (
	"bytes"
	"strings"
	"testing"

	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// The command suggested to continue a run must have something to do.
func TestTheCommandThatContinuesARun(t *testing.T) {
	broken := results.Record{InstanceID: "a", Attempt: 1, Status: "Interrupted", Outcome: vocab.OutcomePending, Cost: 0.01}
	poor := results.Record{InstanceID: "b", Attempt: 1, Status: vocab.StatusBudgetExceeded, Outcome: vocab.OutcomePending, Cost: 0.01}
	mistaken := results.Record{InstanceID: "a", Attempt: 1, Status: vocab.StatusInstanceFault, Outcome: vocab.OutcomeInfrastructure}
	for _, c := range []struct {
		what     string
		selected []string
		records  []results.Record
		command  string
		limit    float64
		last     float64 // of the last command
		want     string
		not      string
	}{
		{"selected", []string{"a"}, []results.Record{broken}, "run", 0, 0, "  batch resume out  continue with", "retry"},
		{"not selected", []string{"x"}, []results.Record{broken}, "run", 0, 0, "  batch retry out a  ", "batch resume out --"},
		{"both", []string{"b"}, []results.Record{broken, poor}, "run", 0, 0, "  batch retry out a  ", "cost-limit"},
		{"the limit was reached", []string{"b"}, []results.Record{poor}, "run", 0.01, 0.01, "  batch resume out --cost-limit-total 0.02  ", "retry"},
		{"much more than the limit", []string{"a"}, []results.Record{broken}, "run", 0.002, 0.002, "--cost-limit-total 0.02  ", "retry"},
		{"the limit was raised", []string{"b"}, []results.Record{poor}, "run", 0.01, 4, "--cost-limit-total 8  ", "retry"},
		{"the limit was raised, and not reached", []string{"a"}, []results.Record{broken}, "run", 0.002, 4, "  batch resume out --cost-limit-total 4  ", "retry"},
		{"the limit was lowered", []string{"a"}, []results.Record{broken}, "run", 5, 4, "  batch resume out --cost-limit-total 4  ", "retry"},
		{"the limit was lifted", []string{"b"}, []results.Record{poor}, "run", 0.01, 0, "  batch resume out --cost-limit-total 0  ", "retry"},
		{"the limit was kept", []string{"a"}, []results.Record{broken}, "run", 5, 5, "  batch resume out  continue with", "cost-limit"},
		{"not selected, and the limit was reached", []string{"x"}, []results.Record{broken}, "run", 0.01, 0.01, "  batch retry out a --cost-limit-total 0.02  ", "retry out a  "},
		{"not selected, and the limit was raised", []string{"x"}, []results.Record{broken}, "run", 0.01, 4, "  batch retry out a --cost-limit-total 4  ", "retry out a  "},
		{"far from the limit", []string{"a"}, []results.Record{broken}, "run", 5, 5, "  batch resume out  continue with", "cost-limit"},
		{"a mistake in what was given", []string{"a"}, []results.Record{mistaken}, "run", 0, 0, "  batch resume out  continue with 1 unfinished instance, once corrected", "retry"},
		{"a conversation", []string{"a"}, []results.Record{broken}, "chat", 0, 0, "  batch chat ... -o out  continue the conversation", "batch resume"},
		{"a conversation about another run", []string{"x"}, []results.Record{broken}, "attach", 0, 0, "  batch attach ... -o out  continue", "batch retry"},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := &manifest.Manifest{Command: c.command, Dataset: manifest.Dataset{Instances: c.selected}, Runs: []manifest.Run{{CostLimit: c.last}}}
			if c.command == "run" {
				m.Request = &manifest.Request{CostLimit: c.limit}
			}
			snap := &results.Snapshot{Dir: "out", Records: c.records, Spent: 0.01, Manifest: m}
			var b bytes.Buffer
			if err := report.NewStatus(snap).Write(&b, false); err != nil {
				t.Fatal(err)
			}
			_, next, _ := strings.Cut(b.String(), "\nnext:\n")
			if !strings.Contains(next, c.want) || strings.Contains(next, c.not) {
				t.Errorf("it has no %q, or %q:\n%s", c.want, c.not, next)
			}
		})
	}
}

// Resume keeps the limit that was set last while the run worked.
func TestTheHintKeepsTheLimitThatWasSetWhileTheRunWorked(t *testing.T) {
	m := &manifest.Manifest{Command: "run", Dataset: manifest.Dataset{Instances: []string{"a"}}, Runs: []manifest.Run{{CostLimit: 1}}, Request: &manifest.Request{CostLimit: 0.5}}
	broken := results.Record{InstanceID: "a", Attempt: 1, Status: "Interrupted", Outcome: vocab.OutcomePending, Cost: 0.01}
	for spent, want := range map[float64]string{0.01: "  batch resume out  continue with", 2: "  batch resume out --cost-limit-total 4  "} {
		snap := &results.Snapshot{Dir: "out", Records: []results.Record{broken}, Spent: spent, Manifest: m}
		var b bytes.Buffer
		if err := report.NewStatus(snap).Under(report.Set{Budget: new(2.0)}).Write(&b, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("spent %v: want %q in:\n%s", spent, want, b.String())
		}
	}
}

func TestTheHintForManyInstancesRetriesByOutcome(t *testing.T) {
	snap := &results.Snapshot{Dir: "out", Manifest: &manifest.Manifest{}}
	for _, id := range []string{"a", "b", "c", "d"} {
		snap.Records = append(snap.Records, results.Record{InstanceID: id, Attempt: 1, Status: "Interrupted", Outcome: vocab.OutcomePending})
	}
	snap.Records[3].Outcome = vocab.OutcomeInfrastructure
	var b bytes.Buffer
	if err := report.NewStatus(snap).Write(&b, false); err != nil {
		t.Fatal(err)
	}
	if want := "batch retry out --outcome infrastructure,pending  continue with 4 "; !strings.Contains(b.String(), want) {
		t.Errorf("want %q in:\n%s", want, b.String())
	}
}
