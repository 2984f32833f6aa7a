package responses_test

import (
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/responses"
)

func BenchmarkGenerate(b *testing.B) {
	thought := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"` + strings.Repeat("Zm9v", 200) + `"}`
	const call = `{"type":"function_call","id":"fc_1","call_id":"c","name":"bash","arguments":"{\"command\":\"ls\"}","status":"completed"}`
	m, err := responses.New(endpoint.Config{Model: "gpt-5", BaseURL: "http://model.test", HTTP: conformance.Canned("application/json", whole(thought, call))})
	if err != nil {
		b.Fatal(err)
	}
	conformance.Benchmark(b, llm.Calls{}.Compose(m), llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Reasoning{Opaque: llm.Opaque{Provider: "openai", Data: thought}},
		llm.ToolCall{ID: "c", Name: "bash", Arguments: `{"command":"ls"}`, Opaque: llm.Opaque{Provider: "openai", Data: call}},
	}})
}
