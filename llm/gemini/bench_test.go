package gemini

import (
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
)

func BenchmarkGenerate(b *testing.B) {
	m, err := New(endpoint.Config{Model: "gemini-3-pro", BaseURL: "http://model.test", HTTP: conformance.Canned("application/json", reply(thought+","+callA, "STOP"))})
	if err != nil {
		b.Fatal(err)
	}
	conformance.Benchmark(b, llm.Calls{}.Compose(m), llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Reasoning{Text: "Hm.", Opaque: kept(thought)},
		llm.ToolCall{ID: "f1", Name: "bash", Arguments: `{"command":"ls <a>","n":1.50}`, Opaque: kept(callA)},
	}})
}
