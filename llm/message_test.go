package llm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
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
