package gemini

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
)

func model(t testing.TB, name string, kwargs map[string]any) *Model {
	t.Helper()
	m, err := New(endpoint.Config{Model: name, BaseURL: "http://localhost", Kwargs: kwargs})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sent returns the JSON of a request.
func sent(t testing.TB, m *Model, req *llm.Request) string {
	t.Helper()
	return conformance.Step{Encode: m.request, Request: *req}.Sent(t)
}

func kept(raw string) llm.Opaque { return llm.Opaque{Provider: provider, Data: raw} }

const (
	signedText = `{"text":"I look.","thoughtSignature":"c2ln+/=="}`
	thought    = `{"text":"Hm.","thought":true}`
	callA      = `{"thoughtSignature":"QQ==","functionCall":{"args":{"command":"ls <a>","n":1.50},"name":"bash","id":"f1"}}`
	callB      = `{"functionCall":{"name":"bash","args":{}}}`
	unknown    = `{"executableCode":{"code":"1","language":"PYTHON"},"new":[1e2]}`
)

// own is a reply of Gemini, and foreign is one of another provider. Each has two calls.
var (
	own = llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Reasoning{Text: "Hm.", Opaque: kept(thought)},
		llm.Text{Text: "I look.", Opaque: kept(signedText)},
		llm.Reasoning{Opaque: kept(unknown)},
		llm.ToolCall{ID: "f1", Name: "bash", Arguments: `{"command":"ls <a>","n":1.50}`, Opaque: kept(callA)},
		llm.ToolCall{ID: "s00001c02", Name: "bash", Arguments: `{}`, Opaque: kept(callB)},
	}}
	foreign = llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Reasoning{Text: "sealed", Opaque: llm.Opaque{Provider: "anthropic", Data: `{"type":"thinking"}`}},
		llm.Text{Text: "Then this."},
		llm.ToolCall{ID: "a", Name: "bash", Arguments: `{"command":"ls`},
		llm.ToolCall{ID: "b", Name: "bash", Arguments: `{"n":12345678901234567890,"x":"\ud800"}`},
	}}
)

func result(id, text string, more ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: id, Parts: append(llm.Say(text), more...)}}}
}

func said(role, text string) llm.Message { return llm.Message{Role: role, Parts: llm.Say(text)} }

var (
	picture = llm.Image{MediaType: "image/png", Data: []byte{1, 2}}
	bash    = llm.Tool{Name: "bash", Description: "Runs", Parameters: json.RawMessage(`{"type":"object"}`)}
)

func TestRequests(t *testing.T) {
	const start = `{"contents":[{"role":"user","parts":[{"text":"go"}]},`
	tests := []struct {
		name, model string
		kwargs      map[string]any
		req         llm.Request
		want        string
	}{
		{
			"system, tools and members", "gemini-3-pro",
			map[string]any{"temperature": 0, "max_tokens": 9, "stop": "X", "tool_choice": "required", "reasoning_effort": "low"},
			llm.Request{Tools: []llm.Tool{bash}, Messages: []llm.Message{said("system", "s"), said("user", "u")}},
			`{"generationConfig":{"maxOutputTokens":9,"stopSequences":["X"],"temperature":0,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}},` +
				`"systemInstruction":{"parts":[{"text":"s"}]},"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},` +
				`"tools":[{"functionDeclarations":[{"name":"bash","description":"Runs","parametersJsonSchema":{"type":"object"}}]}],` +
				`"contents":[{"role":"user","parts":[{"text":"u"}]}]}`,
		},
		{
			"no tools, no choice of them", "gemini-2.5-pro",
			map[string]any{"tool_choice": "auto"},
			llm.Request{Messages: []llm.Message{said("user", "go"), said("assistant", ""), said("system", "later")}},
			start + `{"role":"user","parts":[{"text":"later"}]}]}`,
		},
		{
			"its own parts, its own ids, results in the order of the calls", "gemini-3-pro", nil,
			llm.Request{Messages: []llm.Message{said("user", "go"), own, result("s00001c02", "second"), result("f1", "<first>", picture)}},
			start + `{"role":"model","parts":[` + strings.Join([]string{thought, signedText, unknown, callA, callB}, ",") + `]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"f1","name":"bash","response":{"output":"<first>"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AQI="}}]}},` +
				`{"functionResponse":{"name":"bash","response":{"output":"second"}}}]}]}`,
		},
		{
			"another provider's reply", "gemini-3-pro", nil,
			llm.Request{Messages: []llm.Message{said("user", "go"), foreign, result("a", "1"), result("b", "2")}},
			start + `{"role":"model","parts":[{"text":"Then this."},` +
				`{"functionCall":{"name":"bash","args":{"arguments":"{\"command\":\"ls"}},"thoughtSignature":"skip_thought_signature_validator"},` +
				`{"functionCall":{"name":"bash","args":{"n":12345678901234567890,"x":"` + "\uFFFD" + `"}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"bash","response":{"output":"1"}}},{"functionResponse":{"name":"bash","response":{"output":"2"}}}]}]}`,
		},
		{
			"images of results for older models", "gemini-2.5-flash", nil,
			llm.Request{Messages: []llm.Message{said("user", "go"), foreign, result("a", "", picture), result("b", "2"), said("user", "on")}},
			start + `{"role":"model","parts":[{"text":"Then this."},{"functionCall":{"name":"bash","args":{"arguments":"{\"command\":\"ls"}}},` +
				`{"functionCall":{"name":"bash","args":{"n":12345678901234567890,"x":"` + "\uFFFD" + `"}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"bash","response":{"output":""}}},{"functionResponse":{"name":"bash","response":{"output":"2"}}}]},` +
				`{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AQI="}}]},{"role":"user","parts":[{"text":"on"}]}]}`,
		},
		{
			"a result without a call", "gemini-2.5-flash", nil,
			llm.Request{Messages: []llm.Message{said("user", "go"), result("x", "lost")}},
			start + `{"role":"user","parts":[{"text":"lost"}]}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := sent(t, model(t, tt.model, tt.kwargs), &tt.req)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestArgumentsThatAreNotAnObjectAreKeptAsText(t *testing.T) {
	for text, want := range map[string]string{
		``:                `{}`,
		` {"n": 1.50} `:   `{"n":1.50}`,
		`{"n":1}}`:        `{"arguments":"{\"n\":1}}"}`,
		`{"n":1}]`:        `{"arguments":"{\"n\":1}]"}`,
		`{"n":1} {"n":2}`: `{"arguments":"{\"n\":1} {\"n\":2}"}`,
		`null`:            `{"arguments":"null"}`,
		`["ls"]`:          `{"arguments":"[\"ls\"]"}`,
	} {
		if got := string(arguments(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// With a memo, a request equals the one without, whatever happened to the conversation since the last
// request; and earlier requests do not change.
func TestTheMemoDoesNotChangeRequests(t *testing.T) {
	long := []llm.Message{
		said("system", "s"), said("user", "u"), own, result("f1", "1"), result("s00001c02", "2"), said("user", "and"),
		foreign, result("b", "2"), result("a", "1"), said("assistant", "done"),
	}
	rewritten := append(long[:4:4], said("user", "instead"))
	other := append(append(long[:3:3], result("f1", "changed")), long[4:]...)
	tools := []llm.Tool{bash}
	m, second := model(t, "gemini-3-pro", map[string]any{"seed": 1}), model(t, "gemini-2.5-pro", nil)
	conformance.Memo(t, []conformance.Step{
		{Encode: m.request, Request: llm.Request{}},
		{Encode: m.request, Request: llm.Request{Messages: long[:1]}},
		{Encode: m.request, Request: llm.Request{Messages: long[:2]}},
		{Encode: m.request, Request: llm.Request{Messages: long[:4]}},
		{Encode: m.request, Request: llm.Request{Messages: long[:5]}},
		{Encode: m.request, Request: llm.Request{Messages: long}},
		{Encode: m.request, Request: llm.Request{Messages: long}},
		{Encode: m.request, Request: llm.Request{Messages: rewritten}},
		{Encode: m.request, Request: llm.Request{Messages: long[:8]}},
		{Encode: m.request, Request: llm.Request{Messages: other}},
		{Encode: m.request, Request: llm.Request{Messages: long[:3]}},
		{Encode: m.request, Request: llm.Request{Messages: long[1:]}},
		{Encode: m.request, Request: llm.Request{Messages: long, Tools: tools}},
		{Encode: second.request, Request: llm.Request{Messages: long}},
	})
}
