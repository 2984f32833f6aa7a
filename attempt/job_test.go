package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// A fault is in the record and the trajectory of its attempt, with what the agent had done.
func TestAFailedAttemptIsSavedWithItsFaultKind(t *testing.T) {
	store, err := results.Open(t.TempDir(), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := attempt.New(attempt.Config{Store: store})
	broken := fault.New(fault.Host, "trying", errors.New("broken")).WithHint("fix it")
	panicked := fault.New(fault.Bug, "panic while solving a", &runner.Panic{Value: "boom", Stack: "main.go:1"})
	worked := submitted(0.5)
	worked.Record.Steps = 1
	for name, tc := range map[string]struct {
		known           *results.Result
		err             error
		status          vocab.Status
		blame           string
		outcome         vocab.Outcome
		text, traceback string
		cost            float64
	}{
		"a result":       {known: submitted(0.5), status: "Submitted", outcome: vocab.OutcomeSubmitted, cost: 0.5},
		"a fault":        {submitted(0.5), broken, "HostFault", "host", vocab.OutcomeInfrastructure, "trying: broken (fix it)", "", 0.5},
		"nothing known":  {nil, broken, "HostFault", "host", vocab.OutcomeInfrastructure, "trying: broken (fix it)", "", 0},
		"nothing at all": {nil, nil, "Bug", "bug", vocab.OutcomeInfrastructure, "solving a: neither result nor error", "", 0},
		"a panic": {
			nil, panicked, "Bug", "bug", vocab.OutcomeInfrastructure,
			"panic while solving a: boom (this is a bug of batch; the stack is in the trajectory)", "main.go:1", 0,
		},
		"interrupted": {submitted(0.5), fmt.Errorf("interrupted: %w", context.Canceled), "Interrupted", "", vocab.OutcomePending, "", "", 0.5},
		"no money":    {submitted(0.5), runner.ErrBudget, "BudgetExceeded", "", vocab.OutcomePending, runner.ErrBudget.Error(), "", 0.5},
		"refused at first": {
			nil, &llm.Unpaid{Err: broken}, vocab.StatusNotRun, "host", vocab.OutcomePending, "trying: broken (fix it)", "", 0,
		},
		"refused after steps": {
			worked, &llm.Unpaid{Err: broken}, "HostFault", "host", vocab.OutcomeInfrastructure, "trying: broken (fix it)", "", 0.5,
		},
		"it diverged": {
			known:  &results.Result{Record: results.Record{InstanceID: "a", Status: vocab.StatusReplayDiverged, Outcome: vocab.OutcomeDiverged}},
			status: vocab.StatusReplayDiverged, outcome: vocab.OutcomeDiverged,
		},
	} {
		t.Run(name, func(t *testing.T) {
			end, err := s.Save(t.Context(), dataset.Instance{ID: "a"}, tc.known, tc.err)
			if err != nil {
				t.Fatal(err)
			}
			want := runner.Ending{Status: vocab.Status(tc.status), Blame: tc.blame, Outcome: vocab.Outcome(tc.outcome), Error: tc.text, Cost: tc.cost}
			if tc.known != nil {
				want.Steps = tc.known.Record.Steps
			}
			if diff := cmp.Diff(want, end); diff != "" {
				t.Errorf("end (-want +got):\n%s", diff)
			}
			if tc.known == nil {
				return
			}
			rec, info := tc.known.Record, trajectory(t, store, "a").Info
			if rec.Status != tc.status || rec.Outcome != tc.outcome || rec.Blame != tc.blame || rec.Error != tc.text || rec.Cost != tc.cost {
				t.Errorf("record %+v, want status %v, outcome %v, blame %v, error %v, cost %v",
					rec, tc.status, tc.outcome, tc.blame, tc.text, tc.cost)
			}
			if tc.err != nil && (info.ExitStatus != tc.status || info.Exception != tc.text || info.Traceback != tc.traceback) {
				t.Errorf("trajectory %+v, want the status, exception and traceback of the fault", info)
			}
		})
	}
}

func submitted(cost float64) *results.Result {
	return &results.Result{Record: results.Record{InstanceID: "a", Status: "Submitted", Outcome: vocab.OutcomeSubmitted, Cost: cost}}
}
