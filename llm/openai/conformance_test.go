package openai_test

import (
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/stub"
)

var suite = conformance.Client{
	Protocol: stub.Chat,
	Open:     func(cfg endpoint.Config) (llm.Model, error) { return openai.New(cfg) },
}

func TestConformance(t *testing.T) { conformance.Run(t, suite) }

func FuzzAnswer(f *testing.F) {
	for _, b := range bodies {
		f.Add(uint16(b.status), false, b.body)
	}
	f.Add(uint16(200), false, `{"choices":[{"finish_reason":"content_filter: SAFETY"}]}`)
	f.Add(uint16(200), false, `{"choices":[{"message":{"tool_calls":[{"id":"","function":{"name":"bash","arguments":{}}}]}}]}`)
	f.Add(uint16(400), false, `{"error":{"message":"`+conformance.Key+`","metadata":{"raw":{"error":{"metadata":{"raw":"{}"}}}}}}`)
	for _, pieces := range [][]string{
		{delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"b","arguments":"{"}}]`), delta(`"tool_calls":[{"index":-1,"function":{"arguments":{}}}]`)},
		{delta(`"reasoning_details":[{"type":"t","index":0,"text":"x"}]`), delta(`"reasoning_details":[{"type":"t","index":0,"text":{"a":1}}]`)},
		{`{"choices":[null,{"delta":null}]}`, `{"choices":{},"usage":"","error":""}`},
		{delta(`"content":["a"]`), delta(`"content":{"a":"b"}`)},
	} {
		f.Add(uint16(200), true, events(false, pieces...))
	}
	conformance.FuzzAnswer(f, suite)
}

func BenchmarkGenerate(b *testing.B) {
	const raw = `{"role":"assistant","content":"I look.","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`
	const answer = `{"id":"1","model":"m","choices":[{"index":0,"message":` + raw + `,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`
	m := compose(b, endpoint.Config{Model: "m", BaseURL: "http://model.test", HTTP: conformance.Canned{Body: answer}.Client()})
	conformance.Benchmark(b, m, llm.Message{
		Role: llm.RoleAssistant, Chat: []byte(raw),
		Parts: llm.Say("I look.", llm.ToolCall{ID: "c", Name: "bash", Arguments: `{"command":"ls"}`}),
	})
}
