package anthropic_test

import (
	"io"
	"slices"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/stub"
)

var suite = conformance.Client{
	Protocol: stub.Anthropic, Streams: []bool{true, false},
	Open: func(cfg endpoint.Config) (llm.Model, error) { return anthropic.New(cfg) },
}

func TestConformance(t *testing.T) { conformance.Run(t, suite) }

func FuzzAnswer(f *testing.F) {
	for _, list := range [][]string{
		slices.Concat([]string{start}, block("0", `{"type":"thinking","thinking":null}`, `{"type":"thinking_delta","thinking":"t\ud800"}`, `{"thinking":1}`), []string{ended("max_tokens"), stop}),
		slices.Concat([]string{start}, block("0", `{"type":"tool_use","id":1,"input":null}`, `{"type":"input_json_delta","partial_json":"["}`, `{"type":"citations_delta","citation":1}`), []string{ended("pause_turn"), stop}),
		{start, start},
	} {
		text, _ := io.ReadAll(events(list...).Body)
		f.Add(uint16(200), true, string(text))
	}
	f.Add(uint16(200), false, `{"content":[{"type":"text","text":"x"},{"type":"tool_use"},{},null,1],"usage":{"input_tokens":-1},"stop_reason":"refusal"}`)
	f.Add(uint16(200), false, "{\"content\":[{\"\":\"\x85\"}]}")
	f.Add(uint16(529), false, `{"type":"error","error":{"type":"overloaded_error","message":"`+conformance.Key+`"}}`)
	conformance.FuzzAnswer(f, suite)
}
