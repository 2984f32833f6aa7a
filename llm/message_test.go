package llm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
)

func TestMessageGolden(t *testing.T) {
	raw := `{"content":null,"reasoning":"hm <b>","role":"assistant","tool_calls":[{"function":{"arguments":"{\"command\":\"ls\"}","name":"bash"},"id":"c1","type":"function"}]}`
	tests := []struct {
		name string
		msg  llm.Message
		want string
	}{
		{"text", llm.Message{Role: "user", Parts: llm.Say("a\nb")}, `{"role":"user","content":"a\nb"}`},
		{"empty content stands", llm.Message{Role: "system"}, `{"role":"system","content":""}`},
		{
			"a tool's answer with extra",
			llm.Message{Role: "tool", Parts: []llm.Part{llm.ToolResult{CallID: "c1", Parts: llm.Say("x")}}, Extra: map[string]any{"returncode": 0.0}},
			`{"role":"tool","content":"x","tool_call_id":"c1","extra":{"returncode":0}}`,
		},
		{
			"our own assistant",
			llm.Message{Role: "assistant", Parts: []llm.Part{llm.ToolCall{ID: "c1", Name: "bash", Arguments: "{broken"}}},
			`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{broken"}}]}`,
		},
		{
			"the provider's members are used and extra is batch's",
			llm.Message{Role: "assistant", Chat: json.RawMessage(`{"role":"assistant","content":"hi","extra":1,"x":{"b":1,"a":2}}`), Extra: map[string]any{"cost": 0.5}},
			`{"content":"hi","extra":{"cost":0.5},"role":"assistant","x":{"b":1,"a":2}}`,
		},
		{
			"reasoning survives",
			llm.Message{Role: "assistant", Parts: []llm.Part{llm.ToolCall{ID: "c1", Name: "bash", Arguments: `{"command":"ls"}`}}, Chat: json.RawMessage(raw)},
			raw,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.msg)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(plain(t, got), plain(t, []byte(tt.want))) {
				t.Errorf("wrote %s\nwant  %s", got, tt.want)
			}
			checkRoundTrip(t, got)
		})
	}
}

func TestMessageOfOtherTools(t *testing.T) {
	tests := []struct{ name, data, content, arguments string }{
		{"content in parts", `{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "ab", ""},
		{"null content", `{"role":"assistant","content":null}`, "", ""},
		{"arguments as plain JSON", `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"bash","arguments":{"command":"ls"}}}]}`, "", `{"command":"ls"}`},
		{"names are exact", `{"role":"user","content":"a","Content":"b"}`, "a", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m llm.Message
			if err := json.Unmarshal([]byte(tt.data), &m); err != nil {
				t.Fatal(err)
			}
			if m.Text() != tt.content {
				t.Errorf("content %q, want %q", m.Text(), tt.content)
			}
			if tt.arguments != "" && m.ToolCalls()[0].Arguments != tt.arguments {
				t.Errorf("arguments %q, want %q", m.ToolCalls()[0].Arguments, tt.arguments)
			}
		})
	}
	for _, bad := range []string{`[]`, `{"role":1}`, `{"role":"user","content":5}`, `{"role":"user","extra":[]}`, `{"tool_calls":{}}`} {
		if err := json.Unmarshal([]byte(bad), new(llm.Message)); err == nil {
			t.Errorf("%s: no error, want an error", bad)
		}
	}
}

func TestMessagesOfRealTrajectoriesRoundTrip(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "shared", "data", "trajectories", "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("no recorded trajectories beside the project")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var messages []llm.Message
		if err := json.Unmarshal(data, &messages); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(t, data), plain(t, got)); diff != "" || len(messages) < 4 {
			t.Errorf("%s: %d messages changed by writing and reading (-read +written):\n%s", file, len(messages), diff)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"role":"user","content":"hi","extra":{"cost":1.5}}`))
	f.Add([]byte(`{"role":"assistant","content":[{"type":"text","text":"a"}],"EXTRA":{"a":1},"extra":{"b":2}}`))
	f.Add([]byte(`{"role":"assistant","content":"a","Content":"b","tool_calls":[{"id":"1","function":{"name":"bash","arguments":{"a":1}}}]}`))
	f.Add([]byte(`{"role":"tool","tool_call_id":"1","content":null}`))
	f.Add([]byte(`{"role":"assistant","content":"ab","tool_calls":[{"id":"1"}],"extra":{"parts":[{"type":"tool_call"},{"type":"text"},{"type":"image","data":""}]}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if json.Unmarshal(data, new(llm.Message)) == nil {
			checkRoundTrip(t, data)
		}
	})
}

// checkRoundTrip reads data, writes it, reads that again, and compares both messages.
func checkRoundTrip(t *testing.T, data []byte) {
	t.Helper()
	var first, second llm.Message
	if err := json.Unmarshal(data, &first); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(first)
	if err != nil {
		t.Fatalf("%s cannot be written: %v", data, err)
	}
	if err := json.Unmarshal(written, &second); err != nil {
		t.Fatalf("%s cannot be read back: %v", written, err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("%s changed when written and read (-first +second):\n%s", data, diff)
	}
}

func plain(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func anthropic(data string) llm.Opaque { return llm.Opaque{Provider: "anthropic", Data: data} }

func bashCall(id, command string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "bash", Arguments: `{"command":"` + command + `"}`}
}

func signed(c llm.ToolCall, o llm.Opaque) llm.ToolCall {
	c.Opaque = o
	return c
}

// neutral are messages as providers with other protocols than OpenAI's write them.
var neutral = map[string]struct {
	msg  llm.Message
	want string // the form in a trajectory
}{
	"anthropic: thinking, text and calls in turns": {
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.Reasoning{Text: "hm <b>", Opaque: anthropic("Eq0B/w==")},
			llm.Reasoning{Opaque: anthropic(`{"type":"redacted_thinking","data":"x"}`)},
			llm.Text{Text: "First "},
			bashCall("toolu_1", "ls"),
			llm.Text{Text: "then é."},
			bashCall("toolu_2", "pwd"),
		}, Extra: map[string]any{"cost": 0.5}},
		`{"role":"assistant","content":"First then é.","tool_calls":[` +
			`{"id":"toolu_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},` +
			`{"id":"toolu_2","type":"function","function":{"name":"bash","arguments":"{\"command\":\"pwd\"}"}}],` +
			`"extra":{"cost":0.5,"parts":[` +
			`{"type":"reasoning","text":"hm <b>","opaque":{"provider":"anthropic","data":"Eq0B/w=="}},` +
			`{"type":"reasoning","text":"","opaque":{"provider":"anthropic","data":"{\"type\":\"redacted_thinking\",\"data\":\"x\"}"}},` +
			`{"type":"text","text":"First "},{"type":"tool_call"},{"type":"text","text":"then é."},{"type":"tool_call"}]}}`,
	},
	"anthropic: nothing that OpenAI's members cannot say": {
		llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("ok", bashCall("toolu_1", "ls"))},
		`{"role":"assistant","content":"ok","tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`,
	},
	"anthropic: a call before the text": {
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{bashCall("toolu_1", "ls"), llm.Text{Text: "done"}}},
		`{"role":"assistant","content":"done","tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}],` +
			`"extra":{"parts":[{"type":"tool_call"},{"type":"text"}]}}`,
	},
	"anthropic: a tool result with a picture": {
		llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: "toolu_1", Parts: []llm.Part{
			llm.Text{Text: "before"}, llm.Image{MediaType: "image/png", Data: []byte{0x89, 'P', 0}}, llm.Text{Text: "after"},
		}}}, Extra: map[string]any{"returncode": 0.0}},
		`{"role":"tool","content":"beforeafter","tool_call_id":"toolu_1","extra":{"parts":[{"type":"tool_result","tool_call_id":"toolu_1","parts":[` +
			`{"type":"text","text":"before"},{"type":"image","media_type":"image/png","data":"iVAA"},{"type":"text","text":"after"}]}],"returncode":0}}`,
	},
	"anthropic: two results in one message": {
		llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
			llm.ToolResult{CallID: "toolu_1", Parts: llm.Say("a")}, llm.ToolResult{CallID: "toolu_2"}, llm.Text{Text: "continue"},
		}},
		`{"role":"user","content":"acontinue","tool_call_id":"toolu_1","extra":{"parts":[{"type":"tool_result","tool_call_id":"toolu_1","parts":[{"type":"text","text":"a"}]},` +
			`{"type":"tool_result","tool_call_id":"toolu_2"},{"type":"text","text":"continue"}]}}`,
	},
	"gemini: a thought signature on the call": {
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.Reasoning{Text: "plan"},
			signed(bashCall("s00001c01", "ls"), llm.Opaque{Provider: "gemini", Data: "CpQB+Q=="}),
			bashCall("s00001c02", "pwd"),
		}},
		`{"role":"assistant","content":"","tool_calls":[` +
			`{"id":"s00001c01","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},` +
			`{"id":"s00001c02","type":"function","function":{"name":"bash","arguments":"{\"command\":\"pwd\"}"}}],` +
			`"extra":{"parts":[{"type":"reasoning","text":"plan"},{"type":"tool_call","opaque":{"provider":"gemini","data":"CpQB+Q=="}},{"type":"tool_call"}]}}`,
	},
	"gemini: a thought signature on the text": {
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "a", Opaque: llm.Opaque{Provider: "gemini", Data: "s"}}}},
		`{"role":"assistant","content":"a","extra":{"parts":[{"type":"text","opaque":{"provider":"gemini","data":"s"}}]}}`,
	},
	"a task with a picture": {
		llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{MediaType: "image/gif", Data: []byte("GIF")}, llm.Text{Text: "see"}}},
		`{"role":"user","content":"see","extra":{"parts":[{"type":"image","media_type":"image/gif","data":"R0lG"},{"type":"text"}]}}`,
	},
}

func TestMessagesOfEveryProtocolRoundTrip(t *testing.T) {
	for name, c := range neutral {
		t.Run(name, func(t *testing.T) {
			before := len(c.msg.Extra)
			got, err := c.msg.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("wrote %s\nwant  %s", got, c.want)
			}
			var back llm.Message
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.msg, back); diff != "" {
				t.Errorf("changed when written and read (-was +is):\n%s", diff)
			}
			if len(c.msg.Extra) != before {
				t.Errorf("writing the message changed its extra: %v", c.msg.Extra)
			}
		})
	}
}

func TestPartsOfOtherToolsStayInExtra(t *testing.T) {
	for _, extra := range []string{
		`{"parts":[]}`, `{"parts":{"a":1}}`, `{"parts":[{"type":"text","words":"a"}]}`, `{"parts":[{"type":"video"}]}`,
		`{"parts":[{"type":"tool_call"}]}`, `{"parts":[{"type":"text"}],"x":1}`, `{"a":{"parts":1}}`, `{"parts":["a"]}`,
	} {
		data := `{"role":"assistant","content":"c","tool_calls":[],"extra":` + extra + `}`
		var m llm.Message
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Fatal(err)
		}
		ours := strings.Contains(extra, `{"type":"text"}`)
		if _, kept := m.Extra["parts"]; kept == ours && m.Extra["a"] == nil || m.Text() != "c" || len(m.Parts) != 1 {
			t.Errorf("%s: got %+v, want an extra a if it is kept there, text %q, 1 part", extra, m, "c")
		}
	}
}

func TestToolCallsKeepTheirFieldsUnderANewID(t *testing.T) {
	c := neutral["gemini: a thought signature on the call"]
	got := c.msg.WithToolCallIDs([]string{"x", "y"})
	calls := got.ToolCalls()
	if calls[0].ID != "x" || calls[0].Opaque.Data != "CpQB+Q==" || calls[1].ID != "y" || c.msg.ToolCalls()[0].ID != "s00001c01" {
		t.Errorf("got %+v of %+v; want ID %q, data %q, ID %q, ID %q", got, c.msg, "x", "CpQB+Q==", "y", "s00001c01")
	}
}

func TestToolCallIDsAreSetInTheRawMessage(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		ids       []string
		want      string
	}{
		{
			"missing, empty and repeated ones",
			`{"role":"assistant","x":1e400,"tool_calls":[{"index":0,"function":{"name":"bash","arguments":"{<}"}},{"id":"","function":{"name":"bash","arguments":{"a":1}}},{"id":null}]}`,
			[]string{"a", "b", "c"},
			`{"role":"assistant","tool_calls":[{"function":{"name":"bash","arguments":"{<}"},"id":"a","index":0},{"function":{"name":"bash","arguments":{"a":1}},"id":"b"},{"id":"c"}],"x":1e400}`,
		},
		{
			"reasoning goes with the first call of its name",
			`{"role":"assistant","reasoning_details":[{"id":"t","data":"s"},{"id":"other"},{"id":null},5],"tool_calls":[{"id":"t"},{"id":"t"},{"id":""}]}`,
			[]string{"a", "b", "c"},
			`{"reasoning_details":[{"data":"s","id":"a"},{"id":"other"},{"id":null},5],"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"},{"id":"c"}]}`,
		},
		{
			"a call that is null", `{"role":"assistant","tool_calls":[null]}`,
			[]string{"a"},
			`{"role":"assistant","tool_calls":[{"id":"a"}]}`,
		},
		{
			"details that are not a list", `{"role":"assistant","reasoning_details":"x","tool_calls":[{"id":"t"}]}`,
			[]string{"a"},
			`{"reasoning_details":"x","role":"assistant","tool_calls":[{"id":"a"}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m llm.Message
			if err := json.Unmarshal([]byte(c.raw), &m); err != nil {
				t.Fatal(err)
			}
			m.Chat = []byte(c.raw)
			before := append([]llm.ToolCall{}, m.ToolCalls()...)
			got := m.WithToolCallIDs(c.ids)
			var want, have any
			decode(t, c.want, &want)
			decode(t, string(got.Chat), &have)
			if d := cmp.Diff(want, have); d != "" {
				t.Errorf("wrote %s, want no difference\n%s", got.Chat, d)
			}
			for i, call := range got.ToolCalls() {
				if call.ID != c.ids[i] || call.Arguments != m.ToolCalls()[i].Arguments {
					t.Errorf("call %d: got %+v, want ID %v, arguments %v", i, call, c.ids[i], m.ToolCalls()[i].Arguments)
				}
			}
			if d := cmp.Diff(before, m.ToolCalls()); d != "" {
				t.Errorf("the message was changed in place: %s", d)
			}
		})
	}
	t.Run("a message without a provider's object", func(t *testing.T) {
		m := llm.Message{Parts: []llm.Part{llm.ToolCall{ID: ""}}}.WithToolCallIDs([]string{"a"})
		if m.Chat != nil || m.ToolCalls()[0].ID != "a" {
			t.Errorf("got %+v, want chat nil, ID %q", m, "a")
		}
	})
	t.Run("an object that does not hold the calls gets them", func(t *testing.T) {
		m := llm.Message{Chat: []byte(`{"role":"assistant"}`), Parts: []llm.Part{llm.ToolCall{Name: "bash", Arguments: "{}"}}}
		want := `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]}`
		if got := m.WithToolCallIDs([]string{"a"}); string(got.Chat) != want {
			t.Errorf("wrote %s, want chat %v", got.Chat, want)
		}
	})
}

// decode keeps numbers in their written form.
func decode(t *testing.T, data string, v *any) {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(data), &raw); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for k, item := range raw {
		out[k] = string(item)
	}
	*v = out
}

func TestOnlyAnEmptyAnswerCountsAsFiltered(t *testing.T) {
	call := []llm.ToolCall{{ID: "1"}}
	for _, c := range []struct {
		reason, content string
		calls           []llm.ToolCall
		want            bool
	}{
		{"content_filter", "", nil, true},
		{"content_filter", " \n", nil, true},
		{"content_filter: PROHIBITED_CONTENT", "", nil, true},
		{"SAFETY", "", nil, true},
		{"refusal", "", nil, true},
		{"content_filter", "so far", nil, false},
		{"content_filter", "", call, false},
		{"stop", "", nil, false},
		{"length", "", nil, false},
		{"", "", nil, false},
	} {
		r := &llm.Response{FinishReason: c.reason, Message: llm.Message{Parts: llm.Say(c.content, c.calls...)}}
		if r.Filtered() != c.want {
			t.Errorf("got %q with %q and %d calls: %v; want filtered %v", c.reason, c.content, len(c.calls), !c.want, c.want)
		}
	}
}
