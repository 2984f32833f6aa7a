package attempt_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// refusing is a model that fails once its replies are used up.
type refusing struct {
	llm.Model
	replies int
	err     error
}

func (m *refusing) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	if m.replies--; m.replies < 0 {
		return nil, m.err
	}
	return m.Model.Generate(ctx, req)
}

func TestARefusedConversationIsAResultWithASalvage(t *testing.T) {
	for _, c := range []struct {
		cause   error
		kind    fault.Kind
		salvage bool
		status  vocab.Status
		outcome vocab.Outcome
	}{
		{llm.ErrContextLength, fault.Instance, false, "ContextWindowExceeded", vocab.OutcomeLimit},
		{llm.ErrContextLength, fault.Instance, true, "ContextWindowExceeded", vocab.OutcomeLimit},
		{llm.ErrContentPolicy, fault.Instance, false, "ContentPolicyViolation", vocab.OutcomeFailed},
		{llm.ErrContextLength, fault.Host, false, "HostFault", vocab.OutcomeInfrastructure}, // a setting leaves no room for the conversation
	} {
		t.Run(fmt.Sprint(c.status, c.salvage), func(t *testing.T) {
			box := repo(t, map[string]string{"f.txt": "a\n"})
			script := scripted.Script{"*": {{Bash: "echo b > f.txt", Cost: 0.25}}}
			model := &refusing{script.Model("a__1", scripted.Config{}), 1, fault.New(c.kind, "asking", fmt.Errorf("%w: 400", c.cause))}
			result, store, err := solveWith(t, attempt.Config{Loop: newLoop(t, 20), Sandboxes: hosts{box: box}, Salvage: c.salvage},
				dataset.Instance{ID: "a__1"}, model, runner.NewBudget(0, 0, 0))
			if final := c.outcome.Final(); final != (err == nil) {
				t.Fatal(err)
			}
			r := result.Record
			if r.Outcome != c.outcome || r.Status != c.status || r.Steps != 1 || r.Cost != 0.25 || r.Salvaged != c.salvage {
				t.Errorf("record %+v, want outcome %v, status %v, steps 1, cost 0.25, salvaged %v",
					r, c.outcome, c.status, c.salvage)
			}
			if result.Submission != nil || (result.Prediction != "") != c.salvage || !strings.Contains(string(result.Salvage), "+b\n") {
				t.Errorf("submission %q, prediction %q, salvage %q; want no submission and the change in the salvage", result.Submission, result.Prediction, result.Salvage)
			}
			if head := saved(t, store, result).Info; c.outcome.Final() && (r.Error == "" || head.Exception != r.Error) {
				t.Errorf("the record and trajectory lack the reason: %q, %q", r.Error, head.Exception)
			}
		})
	}
}
