package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
)

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
