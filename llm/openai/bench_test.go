package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/llmtest"
	"batch.example/batch/llm/openai"
)

// A long conversation: 250 steps with observations of 4 KB. The time and the
// allocations of the stand-in server are included; a profile separates them.
func BenchmarkGenerate(b *testing.B) {
	s := llmtest.NewServer(b, llmtest.Text("ok"))
	m := compose(b, openai.Config{Model: "m", BaseURL: s.URL})
	raw := json.RawMessage(`{"role":"assistant","content":"` + strings.Repeat("y", 300) + `"}`)
	req := &llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}}, Tools: []llm.Tool{bashTool()}}
	for range 250 {
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("y"), Chat: raw},
			llm.Message{Role: llm.RoleUser, Parts: llm.Say(strings.Repeat("line of <output>\n", 240))})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Generate(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
