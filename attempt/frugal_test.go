package attempt_test

import (
	"context"
	"runtime"
	"testing"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/openai"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// quiet is a sandbox in which every command does nothing.
type quiet struct{ idle }

func (quiet) Execute(context.Context, string, string) (vocab.Output, error) {
	return vocab.Output{Bytes: []byte("ok\n"), Total: 3}, nil
}

func (q quiet) Script(ctx context.Context, s string) (vocab.Output, error) {
	return q.Execute(ctx, "", s)
}

func (quiet) Open(context.Context, sandbox.Opening) (attempt.Sandbox, error) { return &quiet{}, nil }

// A step costs the program the same at any length of the conversation, and little: its CPU
// time follows what it allocates. Engine and network are left out.
func TestAStepIsFrugal(t *testing.T) {
	const answer = `{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"I look.","refusal":null,` +
		`"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{\"command\":\"do it\"}"}}]}}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`
	model, err := openai.New(endpoint.Config{Model: "m", BaseURL: "http://model.test", HTTP: conformance.Canned{Body: answer}.Client()})
	if err != nil {
		t.Fatal(err)
	}
	once := func(steps int) (allocations, bytes float64) {
		loop := newLoop(t, steps)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := solveWith(t, attempt.Config{Loop: loop, Sandboxes: quiet{}}, dataset.Instance{ID: "a"}, llm.Calls{}.Compose(model), runner.NewBudget(0, 0, 0))
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
	}
	// The least counts: other goroutines, collections and the race detector, which empty pools, add some.
	run := func(steps int) (allocations, bytes float64) {
		allocations, bytes = once(steps)
		for range 2 {
			a, b := once(steps)
			allocations, bytes = min(allocations, a), min(bytes, b)
		}
		return allocations, bytes
	}
	const from, to = 20, 220
	few, fewBytes := run(from)
	many, manyBytes := run(to)
	if n := (many - few) / (to - from); n > 640 {
		t.Errorf("a step makes %.0f allocations, want at most 640", n)
	}
	if n := (manyBytes - fewBytes) / (to - from); n > 53<<10 {
		t.Errorf("a step allocates %.0f bytes, want at most 53 KiB", n)
	}
}
