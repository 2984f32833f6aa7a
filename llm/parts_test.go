package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
)

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
