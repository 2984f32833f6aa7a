package openai_test

import (
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
)

// canned is a model that always answers with the same reply, without a network.
func canned(t testing.TB) (llm.Model, llm.Message) {
	const raw = `{"role":"assistant","content":"I look.","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`
	const answer = `{"id":"1","model":"m","choices":[{"index":0,"message":` + raw + `,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`
	m := compose(t, endpoint.Config{Model: "m", BaseURL: "http://model.test", HTTP: conformance.Canned("application/json", answer)})
	return m, llm.Message{
		Role: llm.RoleAssistant, Chat: []byte(raw),
		Parts: llm.Say("I look.", llm.ToolCall{ID: "c", Name: "bash", Arguments: `{"command":"ls"}`}),
	}
}

func BenchmarkGenerate(b *testing.B) {
	m, reply := canned(b)
	conformance.Benchmark(b, m, reply)
}

func TestACallIsFrugal(t *testing.T) {
	m, reply := canned(t)
	conformance.Frugal(t, m, reply, 160)
}
