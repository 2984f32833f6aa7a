package anthropic

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
)

// model returns a model that is never asked.
func model(t testing.TB, change func(*endpoint.Config)) *Model {
	t.Helper()
	cfg := endpoint.Config{Model: "anthropic/claude-sonnet-4-5", BaseURL: "http://model.test"}
	if change != nil {
		change(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func caching(c *endpoint.Config) { c.CacheControl = endpoint.CacheControlEnd }

// sent returns the JSON of a request.
func sent(t testing.TB, m *Model, req *llm.Request) []byte {
	t.Helper()
	return []byte(conformance.Step{Encode: m.request, Request: *req}.Sent(t))
}

// compact returns JSON without the white space of a test's source.
func compact(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func say(role string, parts ...llm.Part) llm.Message { return llm.Message{Role: role, Parts: parts} }

func text(s string) llm.Part { return llm.Text{Text: s} }

func call(id, arguments string) llm.Part {
	return llm.ToolCall{ID: id, Name: "bash", Arguments: arguments}
}

func result(id string, parts ...llm.Part) llm.Message {
	return say(llm.RoleTool, llm.ToolResult{CallID: id, Parts: parts})
}

func own(data string) llm.Opaque { return llm.Opaque{Provider: provider, Data: data} }

var bash = llm.Tool{Name: "bash", Description: "run <it>", Parameters: json.RawMessage(`{"type":"object"}`)}

func TestMessagesAreGroupedAsTheAPIWantsThem(t *testing.T) {
	system, user := say(llm.RoleSystem, text("s")), say(llm.RoleUser, text("u"))
	other := llm.Opaque{Provider: "openai", Data: `{"type":"text","text":"x"}`}
	for name, tc := range map[string]struct {
		messages []llm.Message
		want     string // the list of messages
	}{
		"results of one turn are one message, in front of text": {
			[]llm.Message{user, say(llm.RoleAssistant, text("a"), call("1", `{"command": "ls"}`), call("2", `{}`)), result("1", text("r1")), user, result("2", text("r2"))},
			`[{"role":"user","content":[{"type":"text","text":"u"}]},
			{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"bash","input":{"command": "ls"}},{"type":"tool_use","id":"2","name":"bash","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r1"},{"type":"tool_result","tool_use_id":"2","content":"r2"},{"type":"text","text":"u"}]}]`,
		},
		"an answer without content does not part two messages": {
			[]llm.Message{user, say(llm.RoleAssistant, llm.Reasoning{Text: "hidden"}), user},
			`[{"role":"user","content":[{"type":"text","text":"u"},{"type":"text","text":"u"}]}]`,
		},
		"texts without a word are left out": {
			[]llm.Message{user, say(llm.RoleAssistant, text("\n"), call("1", "")), result("1", text(""))},
			`[{"role":"user","content":[{"type":"text","text":"u"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"bash","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]`,
		},
		"a later system prompt is the user's": {
			[]llm.Message{user, system},
			`[{"role":"user","content":[{"type":"text","text":"u"},{"type":"text","text":"s"}]}]`,
		},
		"an answer at the end has no white space behind it": {
			[]llm.Message{user, say(llm.RoleAssistant, text("a \n"))},
			`[{"role":"user","content":[{"type":"text","text":"u"}]},{"role":"assistant","content":[{"type":"text","text":"a"}]}]`,
		},
		"images": {
			[]llm.Message{say(llm.RoleUser, llm.Image{MediaType: "image/png", Data: []byte("p")}), say(llm.RoleAssistant, call("1", "{}")), result("1", text("r"), llm.Image{MediaType: "image/png", Data: []byte("p")})},
			`[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cA=="}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"bash","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cA=="}}]}]}]`,
		},
		"input that is not an object": {
			[]llm.Message{user, say(llm.RoleAssistant, call("1", `{"command": "l`), call("2", `[1]`))},
			`[{"role":"user","content":[{"type":"text","text":"u"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"bash","input":{"INVALID_JSON":"{\"command\": \"l"}},{"type":"tool_use","id":"2","name":"bash","input":{"INVALID_JSON":"[1]"}}]}]`,
		},
		"what the model sealed comes back in order": {
			[]llm.Message{user, say(llm.RoleAssistant,
				llm.Reasoning{Text: "t <1>", Opaque: own(`{"signature":"c2ln","type":"thinking"}`)},
				llm.Reasoning{Opaque: own(`{"type":"redacted_thinking", "data":"ZGF0YQ=="}`)},
				llm.Text{Text: "a", Opaque: own(`{"citations":[{"n":1}]}`)},
				llm.Reasoning{Opaque: own(`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q"}}`)},
				llm.ToolCall{ID: "1", Name: "bash", Arguments: "{}", Opaque: own(`{"caller":{"type":"direct"}}`)})},
			`[{"role":"user","content":[{"type":"text","text":"u"}]},
			{"role":"assistant","content":[{"signature":"c2ln","type":"thinking","thinking":"t <1>"},{"type":"redacted_thinking","data":"ZGF0YQ=="},
			{"citations":[{"n":1}],"type":"text","text":"a"},{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q"}},
			{"caller":{"type":"direct"},"type":"tool_use","id":"1","name":"bash","input":{}}]}]`,
		},
		"what another provider sealed stays behind": {
			[]llm.Message{user, say(llm.RoleAssistant, llm.Reasoning{Text: "r", Opaque: other}, llm.Text{Text: "a", Opaque: other},
				llm.ToolCall{ID: "functions.bash:0", Name: "container.exec", Arguments: "{}", Opaque: other}), result("functions.bash:0", text("r"))},
			`[{"role":"user","content":[{"type":"text","text":"u"}]},
			{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"functions_2ebash_3a0","name":"container_2eexec","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_2ebash_3a0","content":"r"}]}]`,
		},
		"a chat completion's message": {
			[]llm.Message{user, {Role: llm.RoleAssistant, Parts: llm.Say("a"), Chat: json.RawMessage(`{"role":"assistant","content":"a","reasoning":"r"}`)}},
			`[{"role":"user","content":[{"type":"text","text":"u"}]},{"role":"assistant","content":[{"type":"text","text":"a"}]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := sent(t, model(t, nil), &llm.Request{Messages: tc.messages})
			if d := cmp.Diff(compact(t, tc.want), compact(t, string(endpoint.Members(got)["messages"]))); d != "" {
				t.Errorf("-want +sent: %s", d)
			}
		})
	}
}

func TestARequestHasTheSettingsAndTheMarks(t *testing.T) {
	messages := []llm.Message{
		say(llm.RoleSystem, text("s")), say(llm.RoleUser, text("u")),
		say(llm.RoleAssistant, call("1", "{}"), call("2", "{}")), result("1", text("r")), result("2", text("r")),
		say(llm.RoleAssistant, text("a")), say(llm.RoleUser, text("v")),
	}
	for name, tc := range map[string]struct {
		change func(*endpoint.Config)
		req    llm.Request
		want   string
	}{
		"without a cache": {
			nil,
			llm.Request{Messages: messages[:2], Tools: []llm.Tool{bash}},
			`{"max_tokens":64000,"model":"claude-sonnet-4-5","stream":true,
			"tools":[{"name":"bash","description":"run <it>","input_schema":{"type":"object"}}],
			"system":[{"type":"text","text":"s"}],
			"messages":[{"role":"user","content":[{"type":"text","text":"u"}]}]}`,
		},
		"three breakpoints": {
			caching,
			llm.Request{Messages: messages, Tools: []llm.Tool{bash}},
			`{"max_tokens":64000,"model":"claude-sonnet-4-5","stream":true,
			"tools":[{"name":"bash","description":"run <it>","input_schema":{"type":"object"}}],
			"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],
			"messages":[{"role":"user","content":[{"type":"text","text":"u"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"bash","input":{}},{"type":"tool_use","id":"2","name":"bash","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"},{"type":"tool_result","tool_use_id":"2","content":"r","cache_control":{"type":"ephemeral"}}]},
			{"role":"assistant","content":[{"type":"text","text":"a"}]},
			{"role":"user","content":[{"type":"text","text":"v","cache_control":{"type":"ephemeral"}}]}]}`,
		},
		"an hour, and no system prompt": {
			func(c *endpoint.Config) {
				caching(c)
				c.Kwargs = map[string]any{"cache_control": map[string]any{"type": "ephemeral", "ttl": "1h"}, "stream": false, "max_tokens": 5}
			},
			llm.Request{Messages: messages[1:2], Tools: []llm.Tool{bash}},
			`{"max_tokens":5,"model":"claude-sonnet-4-5",
			"tools":[{"name":"bash","description":"run <it>","input_schema":{"type":"object"},"cache_control":{"ttl":"1h","type":"ephemeral"}}],
			"messages":[{"role":"user","content":[{"type":"text","text":"u","cache_control":{"ttl":"1h","type":"ephemeral"}}]}]}`,
		},
		"the API's own breakpoint": {
			func(c *endpoint.Config) {
				c.Kwargs = map[string]any{"cache_control": map[string]any{"type": "ephemeral"}, "tool_choice": "auto"}
			},
			llm.Request{Messages: messages[1:2]},
			`{"cache_control":{"type":"ephemeral"},"max_tokens":64000,"model":"claude-sonnet-4-5","stream":true,
			"messages":[{"role":"user","content":[{"type":"text","text":"u"}]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(compact(t, tc.want), compact(t, string(sent(t, model(t, tc.change), &tc.req)))); d != "" {
				t.Errorf("-want +sent: %s", d)
			}
		})
	}
}

// A request must not depend on what earlier requests left in the memo.
func TestAMemoDoesNotChangeRequests(t *testing.T) {
	m := model(t, caching)
	user, answer := say(llm.RoleUser, text("u")), say(llm.RoleAssistant, text("a"), call("1", `{"x":1}`))
	empty := say(llm.RoleAssistant)
	long := []llm.Message{say(llm.RoleSystem, text("s")), user, answer, result("1", text("r")), user, empty, user, answer, result("1", text("q"))}
	other := []llm.Message{say(llm.RoleSystem, text("z")), user}
	var steps []conformance.Step
	for _, tools := range [][]llm.Tool{nil, {bash}} {
		for _, messages := range [][]llm.Message{
			long[:1], long[:2], long[:3], long[:4], long[:5], long[:6], long[:7], long[:8], long, long[:4], long[:6],
			append(long[:4:4], answer), append(long[:4:4], user, user), other, long,
			{user},
			nil, long[:2],
			{long[0], empty, empty},
			long,
		} {
			steps = append(steps, conformance.Step{Encode: m.request, Request: llm.Request{Messages: messages, Tools: tools}})
		}
	}
	conformance.Memo(t, steps)
}
