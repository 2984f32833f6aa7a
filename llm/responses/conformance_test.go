package responses_test

import (
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/responses"
	"batch.example/batch/llm/stub"
)

var suite = conformance.Client{
	Protocol: stub.Responses,
	Open:     func(cfg endpoint.Config) (llm.Model, error) { return responses.New(cfg) },
}

func TestConformance(t *testing.T) { conformance.Run(t, suite) }

func FuzzAnswer(f *testing.F) {
	f.Add(uint16(200), false, whole(items...))
	f.Add(uint16(200), true, events(`{"type":"response.output_item.done","output_index":-1,"item":null}`, `{"type":"response.completed","response":`+whole()+`}`).Body)
	f.Add(uint16(200), true, events(`{"type":"error","error":{"code":400,"type":3,"message":"`+conformance.Key+`"}}`).Body)
	f.Add(uint16(200), false, `{"output":[null,{"type":"function_call","arguments":{}},{"type":"reasoning","id":3}],"usage":[],"error":{}}`)
	f.Add(uint16(200), false, "{\"output\":[{\"type\":\"message\",\"x\":\"\x85\"}]}")
	conformance.FuzzAnswer(f, suite)
}

func BenchmarkGenerate(b *testing.B) {
	thought := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"` + strings.Repeat("Zm9v", 200) + `"}`
	const call = `{"type":"function_call","id":"fc_1","call_id":"c","name":"bash","arguments":"{\"command\":\"ls\"}","status":"completed"}`
	m, err := responses.New(endpoint.Config{Model: "gpt-5", BaseURL: "http://model.test", HTTP: conformance.Canned{Body: whole(thought, call)}.Client()})
	if err != nil {
		b.Fatal(err)
	}
	conformance.Benchmark(b, llm.Calls{}.Compose(m), llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Reasoning{Opaque: llm.Opaque{Provider: "openai", Data: thought}},
		llm.ToolCall{ID: "c", Name: "bash", Arguments: `{"command":"ls"}`, Opaque: llm.Opaque{Provider: "openai", Data: call}},
	}})
}
