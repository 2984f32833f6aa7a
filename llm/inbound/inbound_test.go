package inbound_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/inbound"
)

// readers are the readers of the four protocols.
var readers = map[string]func([]byte) (*inbound.Call, error){
	"messages": inbound.Messages, "chat": inbound.Chat, "responses": inbound.Responses, "gemini": inbound.Gemini,
}

// conversation is the same one in each protocol, with members, parts and items that nobody knows.
var conversation = map[string]string{
	"messages": `{"model":"m","max_tokens":9,"stream":true,"system":[{"type":"text","text":"Be brief.","x":1}],"tools":[{"name":"bash"},{"type":"web_search_1","name":"search"}],"messages":[
		{"role":"user","content":"List."},
		{"role":"assistant","content":[{"type":"thinking","thinking":"I look.","signature":"s1"},{"type":"text","text":"Here."},{"type":"unheard_of"},{"type":"tool_use","id":"a","name":"bash","input":{"c":1}},{"type":"tool_use","id":"b","name":"bash","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"two"}]},{"type":"text","text":"Go on."}]}]}`,
	"chat": `{"model":"m","max_completion_tokens":9,"stream":true,"tools":[{"type":"function","function":{"name":"bash"}},{"type":"web_search_1","function":{"name":"search"}}],"messages":[
		{"role":"developer","content":"Be brief."},{"role":"user","content":"List."},
		{"role":"assistant","content":"Here.","reasoning_details":[{"type":"reasoning.text","text":"I look.","signature":"s1"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\"c\":1}"}},{"id":"b","type":"function","function":{"name":"bash","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"a","content":"one"},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"two"}]},{"role":"user","content":"Go on.","x":{}}]}`,
	"responses": `{"model":"m","max_output_tokens":9,"stream":true,"instructions":"Be brief.","tools":[{"type":"function","name":"bash"},{"type":"web_search_1","name":"search"}],"input":[
		{"role":"user","content":[{"type":"input_text","text":"List."}]},
		{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"I look."}],"encrypted_content":"s1"},{"type":"unheard_of","arguments":{},"summary":"x"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Here."}]},
		{"type":"function_call","call_id":"a","name":"bash","arguments":"{\"c\":1}"},{"type":"custom_tool_call","call_id":"b","name":"bash","input":"{}"},
		{"type":"function_call_output","call_id":"a","output":"one"},{"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"two"}]},{"role":"user","content":"Go on."}]}`,
	"gemini": `{"system_instruction":{"parts":[{"text":"Be brief."}]},"generationConfig":{"maxOutputTokens":9},"tools":[{"functionDeclarations":[{"name":"bash"}]},{"web_search_1":{}}],"contents":[
		{"parts":[{"text":"List."}]},
		{"role":"model","parts":[{"text":"I look.","thought":true,"thoughtSignature":"s1"},{"text":"Here."},{"unheardOf":{}},{"functionCall":{"id":"a","name":"bash","args":{"c":1}}},{"functionCall":{"id":"b","name":"bash","args":{}}}]},
		{"role":"user","parts":[{"functionResponse":{"id":"a","response":"one"}},{"functionResponse":{"id":"b","response":"two"}},{"text":"Go on."}]}]}`,
}

func TestAConversationIsTheSameInEachProtocol(t *testing.T) {
	const want = `system: text Be brief.
user: text List.
assistant: thought I look. s1; text Here.; call a bash {"c":1}; call b bash {}
tool: result a one
tool: result b two
user: text Go on.
`
	for name, read := range readers {
		c, err := read([]byte(conversation[name]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := written(c.Messages); got != want {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
		model, streams := "m", true
		if name == "gemini" { // they are in its path
			model, streams = "", false
		}
		if c.Model != model || c.Stream != streams || c.MaxTokens != 9 {
			t.Errorf("%s: model %q, stream %v, limit %d", name, c.Model, c.Stream, c.MaxTokens)
		}
		if len(c.Tools) != 2 || c.Tools[0] != (inbound.Tool{Name: "bash"}) || c.Tools[1].Type != "web_search_1" {
			t.Errorf("%s: tools %+v", name, c.Tools)
		}
	}
}

// written returns messages as text.
func written(messages []llm.Message) (text string) {
	for _, m := range messages {
		var parts []string
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				parts = append(parts, "text "+p.Text)
			case llm.Reasoning:
				parts = append(parts, "thought "+p.Text+" "+p.Opaque.Data)
			case llm.ToolCall:
				parts = append(parts, "call "+p.ID+" "+p.Name+" "+p.Arguments)
			case llm.ToolResult:
				parts = append(parts, "result "+p.CallID+" "+strings.Trim(llm.Message{Parts: p.Parts}.Text(), `"`))
			}
		}
		text += m.Role + ": " + strings.Join(parts, "; ") + "\n"
	}
	return text
}

func TestRequestsThatCannotBeRead(t *testing.T) {
	for name, read := range readers {
		for _, body := range []string{"", "{", "[]", `{"model":"m"}`, `{"messages":[],"input":[],"contents":[]}`, `{"messages":1,"input":1,"contents":1}`} {
			if c, err := read([]byte(body)); err == nil {
				t.Errorf("%s: %s is read as %+v", name, body, c)
			}
		}
	}
}

// Every message has a role that the agent knows, and at most one result of a tool.
func FuzzReaders(f *testing.F) {
	for _, body := range conversation {
		f.Add(body)
	}
	f.Add(`{"messages":[{"role":"x"}],"input":[{"role":"x"},{"type":"x_call","call_id":"a"}],"contents":[{"role":"x","parts":[{}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for name, read := range readers {
			c, err := read([]byte(body))
			if err != nil {
				continue
			}
			for _, m := range c.Messages {
				results := 0
				for _, p := range m.Parts {
					if _, ok := p.(llm.ToolResult); ok {
						results++
					}
				}
				known := m.Role == llm.RoleSystem || m.Role == llm.RoleUser || m.Role == llm.RoleAssistant || m.Role == llm.RoleTool
				if !known || results > 1 {
					t.Fatalf("%s: %s with %d results in %s", name, fmt.Sprintf("%q", m.Role), results, body)
				}
				if _, err := json.Marshal(m); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
	})
}

// Documents are read, whatever their source is, and count as what is in no message.
func TestDocumentsAreNoMessages(t *testing.T) {
	const text = `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"plain words"}}`
	for name, tt := range map[string]struct {
		block  string
		unread int
	}{
		"of text":     {text, len("plain words")},
		"of content":  {`{"type":"document","source":{"type":"content","content":"[words]"}}`, len(`"[words]"`)},
		"in a result": {`{"type":"tool_result","tool_use_id":"a","content":[` + text + `]}`, len("plain words")},
		"none":        {`{"type":"text","text":"words"}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := inbound.Messages([]byte(`{"messages":[{"role":"user","content":[` + tt.block + `]}]}`))
			if err != nil || c.Unread != tt.unread {
				t.Errorf("%+v, %v; want %d bytes", c, err, tt.unread)
			}
		})
	}
}
