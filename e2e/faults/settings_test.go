package faults

import (
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

func TestAnUnfinishedAttemptStartsFreshOnRequest(t *testing.T) {
	tier.Rest(t, "attempt/*.go", "attempt/session", "run/*.go", "results/*.go", "results/manifest", "agent/config")
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer { return e2e.WorkAndSubmit(r) })
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	if out, code := e2e.RunOpenAI(t, dir, server.URL, "--subset", "rows.jsonl", "--slice", ":1", "--inject", "model.call:2=kill"); code != -1 {
		t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
	}
	cmd := e2e.Batch(t, dir, "retry", "out", "--outcome", "pending", "--fresh", "-q")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY="+e2e.PlantedKey)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if requests := server.Requests(); len(requests) != 3 || requests[1].Replies() != 0 {
		t.Errorf("%d requests, want one before the kill and two from the beginning", len(requests))
	}
	if r := e2e.Record(t, dir); r.Attempt != 2 || r.Outcome != vocab.OutcomeSubmitted {
		t.Errorf("got %+v, want attempt 2, outcome %v", r, vocab.OutcomeSubmitted)
	}
}
