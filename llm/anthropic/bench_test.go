package anthropic_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
)

// A streamed answer costs more than one without streaming, in proportion to its events: here 42.
func BenchmarkGenerate(b *testing.B) {
	answer := slices.Concat([]string{start}, block("0", `{"type":"thinking","thinking":"","signature":""}`, repeat(20, `{"type":"thinking_delta","thinking":"I think so. "}`)...),
		block("1", `{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}`, repeat(20, `{"type":"input_json_delta","partial_json":" "}`)...), []string{ended("tool_use"), stop})
	const whole = `{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"I think so.","signature":"c2ln"},` +
		`{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":9}}`
	reply := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Reasoning{Text: "t", Opaque: llm.Opaque{Provider: "anthropic", Data: `{"signature":"c2ln","type":"thinking"}`}},
		llm.ToolCall{ID: "toolu_1", Name: "bash", Arguments: `{"command":"ls"}`},
	}}
	for name, client := range map[string]*http.Client{
		"at once":  conformance.Canned("application/json", whole),
		"streamed": conformance.Canned("text/event-stream", "data: "+strings.Join(answer, "\n\ndata: ")+"\n\n"),
	} {
		b.Run(name, func(b *testing.B) {
			m := compose(b, endpoint.Config{BaseURL: "http://model.test", CacheControl: endpoint.CacheControlEnd, HTTP: client})
			conformance.Benchmark(b, m, reply)
		})
	}
}

func repeat(n int, s string) []string { return slices.Repeat([]string{s}, n) }
