package anthropic_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/stub"
)

var suite = conformance.Client{
	Protocol: stub.Anthropic,
	Open:     func(cfg endpoint.Config) (llm.Model, error) { return anthropic.New(cfg) },
}

func TestConformance(t *testing.T) { conformance.Run(t, suite) }

func FuzzAnswer(f *testing.F) {
	for _, list := range [][]string{
		slices.Concat([]string{start}, block("0", `{"type":"thinking","thinking":null}`, `{"type":"thinking_delta","thinking":"t\ud800"}`, `{"thinking":1}`), []string{ended("max_tokens"), stop}),
		slices.Concat([]string{start}, block("0", `{"type":"tool_use","id":1,"input":null}`, `{"type":"input_json_delta","partial_json":"["}`, `{"type":"citations_delta","citation":1}`), []string{ended("pause_turn"), stop}),
		{start, start},
	} {
		f.Add(uint16(200), true, events(list...).Body)
	}
	f.Add(uint16(200), false, `{"content":[{"type":"text","text":"x"},{"type":"tool_use"},{},null,1],"usage":{"input_tokens":-1},"stop_reason":"refusal"}`)
	f.Add(uint16(200), false, "{\"content\":[{\"\":\"\x85\"}]}")
	f.Add(uint16(529), false, `{"type":"error","error":{"type":"overloaded_error","message":"`+conformance.Key+`"}}`)
	conformance.FuzzAnswer(f, suite)
}

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
		"at once":  conformance.Canned{Body: whole}.Client(),
		"streamed": conformance.Canned{Kind: "text/event-stream", Body: "data: " + strings.Join(answer, "\n\ndata: ") + "\n\n"}.Client(),
	} {
		b.Run(name, func(b *testing.B) {
			m := compose(b, endpoint.Config{BaseURL: "http://model.test", CacheControl: endpoint.CacheControlEnd, HTTP: client})
			conformance.Benchmark(b, m, reply)
		})
	}
}

func repeat(n int, s string) []string { return slices.Repeat([]string{s}, n) }
