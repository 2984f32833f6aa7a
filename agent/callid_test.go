package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
)

// calling is a reply with a bash call for each id, as a provider sends it.
func calling(ids ...string) *llm.Response {
	var calls []string
	for i, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"bash","arguments":"{\"command\":\"c%d\"}"}}`, id, i))
	}
	raw := `{"role":"assistant","content":null,"reasoning":"r","tool_calls":[` + strings.Join(calls, ",") + `]}`
	var m llm.Message
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		panic(err)
	}
	return &llm.Response{Message: m, Cost: 1}
}

func ids(m llm.Message) (ids []string) {
	for _, c := range m.ToolCalls() {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestEveryToolCallHasAUniqueID(t *testing.T) {
	for _, c := range []struct {
		name    string
		replies [][]string
		want    [][]string
	}{
		{"given ones stay", [][]string{{"a", "b"}, {"c"}}, [][]string{{"a", "b"}, {"c"}}},
		{"missing ones", [][]string{{"", ""}, {""}}, [][]string{{"s00001c01", "s00001c02"}, {"s00002c01"}}},
		{"the same one twice in a reply", [][]string{{"a", "a", "b", "a"}}, [][]string{{"a", "s00001c02", "b", "s00001c04"}}},
		{"one of an earlier reply", [][]string{{"a"}, {"a", "b"}, {"b"}}, [][]string{{"a"}, {"s00002c01", "b"}, {"s00003c01"}}},
		{"a given one that has the form of a generated one", [][]string{{"s00001c02", ""}, {"", "s00002c01"}}, [][]string{{"s00001c02", "s00001c03"}, {"s00002c02", "s00002c01"}}},
		{"a count continues", [][]string{{"functions.bash:0", "functions.bash:1"}, {"functions.bash:0"}, {"functions.bash:9"}}, [][]string{
			{"functions.bash:0", "functions.bash:1"}, {"functions.bash:2"}, {"functions.bash:9"},
		}},
		{"a count that does not increase", [][]string{{"f:0", "f:0", "f:0"}, {"f:0"}}, [][]string{{"f:0", "f:1", "f:2"}, {"f:3"}}},
		{"ids without a valid count", [][]string{{":0", "x:y"}, {":0", "x:y"}}, [][]string{{":0", "x:y"}, {"s00002c01", "s00002c02"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &script{}
			for _, ids := range c.replies {
				m.replies = append(m.replies, calling(ids...))
			}
			untouched := slices.Clone(m.replies)
			j := &journal{}
			end, _ := newLoop(t, func(l *Config) { l.Limits.Steps = len(c.replies) }).Run(t.Context(), Turn{Model: m, Env: &env{}, Recorder: j})
			var got [][]string
			for _, m := range end.Messages {
				if m.Role != llm.RoleAssistant {
					continue
				}
				got = append(got, ids(m))
				var raw llm.Message
				if err := json.Unmarshal(m.Chat, &raw); err != nil || !slices.Equal(ids(raw), ids(m)) || !strings.Contains(string(m.Chat), `"reasoning":"r"`) {
					t.Errorf("error %v, sent back as %s; want the ids %v, %q in it, no error",
						err, m.Chat, ids(m), `"reasoning":"r"`)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
			answered(t, end.Messages)
			for i, r := range untouched {
				if !slices.Equal(ids(r.Message), c.replies[i]) {
					t.Errorf("the model's own reply was changed to the ids %v", ids(r.Message))
				}
			}
			for _, e := range j.events {
				if e.Type == EventReply && !slices.Equal(ids(e.Response.Message), c.want[e.Step-1]) {
					t.Errorf("recorded the ids %v in step %d, want %v",
						ids(e.Response.Message), e.Step, c.want[e.Step-1])
				}
			}
			// An attempt that is resumed after any of its replies sets the same ids.
			for n := range c.replies {
				resumed := resumeAt(t, end.Messages, n, calling(c.replies[n]...))
				if d := cmp.Diff(c.want[n], ids(resumed)); d != "" {
					t.Errorf("ids after a resume in step %d (-want +got):\n%s", n+1, d)
				}
				if d := cmp.Diff(c.want[n], ids(resumeAt(t, end.Messages, n, &llm.Response{Message: resumed}))); d != "" {
					t.Errorf("ids after a resume in step %d from the recorded reply (-want +got):\n%s", n+1, d)
				}
			}
		})
	}
}

// answered checks that each tool message answers exactly one call of the reply before it.
func answered(t *testing.T, messages []llm.Message) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.ToolCalls() {
			open[c.ID] = true
		}
		if m.Role == llm.RoleTool {
			if !open[m.ToolCallID()] {
				t.Errorf("the tool message %q answers no open call", m.ToolCallID())
			}
			delete(open, m.ToolCallID())
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without an answer: %v, want none", open)
	}
}

// resumeAt resumes a conversation in its n-th step, which has a known reply, and returns the
// reply as it is in the conversation afterwards.
func resumeAt(t *testing.T, messages []llm.Message, n int, reply *llm.Response) llm.Message {
	t.Helper()
	var replies []int
	for i, m := range messages {
		if m.Role == llm.RoleAssistant {
			replies = append(replies, i)
		}
	}
	end, err := newLoop(t, func(c *Config) { c.Limits.Steps = n + 1 }).Run(t.Context(), Turn{
		Messages: messages[:replies[n]], Calls: n, Unfinished: &Unfinished{Reply: reply}, Model: &script{}, Env: &env{},
	})
	if err != nil {
		t.Fatal(err)
	}
	answered(t, end.Messages)
	return end.Messages[replies[n]]
}
