package attempt_test

import (
	"context"
	"errors"
	"testing"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// A task is verified in the sandbox as it was opened, before that is closed, and with the final prediction.
func TestATaskIsVerifiedBeforeItsSandboxIsClosed(t *testing.T) {
	gone := fault.Newf(fault.Transient, "the engine is away")
	for name, c := range map[string]struct {
		task    *harbor.Task
		fails   error
		calls   int
		outcome vocab.Outcome
	}{
		"a row of a file":        {nil, nil, 0, vocab.OutcomeEmpty},
		"a task":                 {&harbor.Task{}, nil, 1, vocab.OutcomeSubmitted},
		"a verifier that failed": {&harbor.Task{}, gone, 1, vocab.OutcomeSubmitted},
	} {
		t.Run(name, func(t *testing.T) {
			box := repo(t, map[string]string{"f.txt": "a\n"})
			calls := 0
			verify := func(_ context.Context, f attempt.Finished) error {
				calls++
				if f.Box != attempt.Sandbox(box) || f.Attempt != 1 || f.Instance.ID != "a" || f.Prediction != "" {
					t.Errorf("verified %+v", f)
				}
				return c.fails
			}
			settings := attempt.Config{Loop: newLoop(t, 20), Sandboxes: hosts{box: box}, Verify: verify}
			in := dataset.Instance{ID: "a", ProblemStatement: "p", Task: c.task}
			r, _, err := solveWith(t, settings, in, scripted.Noop(scripted.Config{}), runner.NewBudget(0, 0, 0))
			if !errors.Is(err, c.fails) || calls != c.calls || r.Record.Outcome != c.outcome {
				t.Errorf("%d verifications, outcome %s, %v; want %d, %s, %v", calls, r.Record.Outcome, err, c.calls, c.outcome, c.fails)
			}
		})
	}
}
