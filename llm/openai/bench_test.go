package openai_test

import (
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
)

func BenchmarkGenerate(b *testing.B) {
	const raw = `{"role":"assistant","content":"I look.","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`
	const answer = `{"id":"1","model":"m","choices":[{"index":0,"message":` + raw + `,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`
	m := compose(b, endpoint.Config{Model: "m", BaseURL: "http://model.test", HTTP: conformance.Canned("application/json", answer)})
	conformance.Benchmark(b, m, llm.Message{
		Role: llm.RoleAssistant, Chat: []byte(raw),
		Parts: llm.Say("I look.", llm.ToolCall{ID: "c", Name: "bash", Arguments: `{"command":"ls"}`}),
	})
}
