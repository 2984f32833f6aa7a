package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
)

func talk(n int) []llm.Message {
	messages := []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}}
	for i := range n {
		messages = append(messages,
			llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("y"), Chat: fmt.Appendf(nil, `{"role":"assistant","content":"reply %d"}`, i)},
			llm.Message{Role: llm.RoleUser, Parts: llm.Say(fmt.Sprintf("<output %d> & more", i))})
	}
	return messages
}

// sent returns the JSON of a request.
func sent(t testing.TB, m *Model, req *llm.Request) string {
	t.Helper()
	return conformance.Step{Encode: m.request, Request: *req}.Sent(t)
}

func model(t testing.TB, c endpoint.Config) *Model {
	t.Helper()
	c.Model, c.BaseURL = "m", "http://localhost/v1"
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// With a memo, a request is the same as without one, whatever happened to the
// conversation since the last request; and earlier requests do not change.
func TestTheMemoDoesNotChangeRequests(t *testing.T) {
	long, tools := talk(6), []llm.Tool{{Name: "bash", Parameters: json.RawMessage(`{"type":"object"}`)}}
	rewritten := append(long[:3:3], talk(2)[2:]...)
	for _, c := range []endpoint.Config{{}, {CacheControl: endpoint.CacheControlEnd}, {Kwargs: map[string]any{"temperature": 0, "tool_choice": "auto"}}} {
		m, other := model(t, c), model(t, c)
		conformance.Memo(t, []conformance.Step{
			{Encode: m.request, Request: llm.Request{}},
			{Encode: m.request, Request: llm.Request{Messages: long[:1]}},
			{Encode: m.request, Request: llm.Request{Messages: long[:5]}},
			{Encode: m.request, Request: llm.Request{Messages: long}},
			{Encode: m.request, Request: llm.Request{Messages: long}},
			{Encode: m.request, Request: llm.Request{Messages: rewritten}},
			{Encode: m.request, Request: llm.Request{Messages: long[:2]}},
			{Encode: m.request, Request: llm.Request{Messages: long}},
			{Encode: m.request, Request: llm.Request{Messages: long, Tools: tools}},
			{Encode: m.request, Request: llm.Request{Messages: long}},
			{Encode: other.request, Request: llm.Request{Messages: long}},
		})
	}
}

func TestAnInvalidRequestDoesNotChangeTheMemo(t *testing.T) {
	m, memo, long := model(t, endpoint.Config{}), llm.Memo{}, talk(2)
	want := sent(t, m, &llm.Request{Messages: long, Memo: &memo})
	bad := append(long[:2:2], llm.Message{Role: llm.RoleExit})
	if _, err := m.request(&llm.Request{Messages: bad, Memo: &memo}); err == nil || !strings.Contains(err.Error(), "message 2") {
		t.Errorf("got %v, want an error with %q", err, "message 2")
	}
	if got := sent(t, m, &llm.Request{Messages: long, Memo: &memo}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The average cost of a conversation's requests, by its length.
func BenchmarkRequest(b *testing.B) {
	for _, steps := range []int{60, 600} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			m, messages := model(b, endpoint.Config{}), talk(steps)
			b.ReportAllocs()
			for b.Loop() {
				var memo llm.Memo
				for i := 1; i <= len(messages); i += 2 {
					if _, err := m.request(&llm.Request{Messages: messages[:i], Memo: &memo}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
		})
	}
}
