package gemini

import (
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/stub"
)

var suite = conformance.Client{
	Protocol: stub.Gemini,
	Open:     func(cfg endpoint.Config) (llm.Model, error) { return New(cfg) },
}

func TestConformance(t *testing.T) { conformance.Run(t, suite) }

func FuzzAnswer(f *testing.F) {
	f.Add(uint16(200), false, reply(strings.Join([]string{thought, signedText, unknown, callA, callB}, ","), "STOP"))
	f.Add(uint16(200), true, stream(chunk(`{"text":"a"}`), reply(`{"text":"b","thoughtSignature":"QQ=="}`, "STOP")))
	f.Add(uint16(200), false, `{"candidates":[{"content":{"parts":[null,{}]}}]}`)
	conformance.FuzzAnswer(f, suite)
}

func BenchmarkGenerate(b *testing.B) {
	m, err := New(endpoint.Config{Model: "gemini-3-pro", BaseURL: "http://model.test", HTTP: conformance.Canned{Body: reply(thought+","+callA, "STOP")}.Client()})
	if err != nil {
		b.Fatal(err)
	}
	conformance.Benchmark(b, llm.Calls{}.Compose(m), llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Reasoning{Text: "Hm.", Opaque: kept(thought)},
		llm.ToolCall{ID: "f1", Name: "bash", Arguments: `{"command":"ls <a>","n":1.50}`, Opaque: kept(callA)},
	}})
}
