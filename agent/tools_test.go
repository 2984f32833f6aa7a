package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// noteTool is a tool that does its work outside the environment.
func noteTool(kept *[]string) Tool {
	return Tool{
		Tool: llm.Tool{Name: "note", Description: "Keep a note"},
		Decode: func(args map[string]any) (Call, []string) {
			if text, ok := args["text"].(string); ok {
				return Call{Arguments: map[string]any{"text": text}}, nil
			}
			return Call{}, []string{"Missing 'text' argument in note tool call."}
		},
		Execute: func(_ context.Context, _ Environment, c Call) (vocab.Output, error) {
			*kept = append(*kept, c.Arguments["text"].(string))
			return printed(vocab.Marker + "\nkept\n"), nil
		},
	}
}

func withTools(tools ...Tool) func(*Config) {
	return func(c *Config) { c.Actions = ActionForm{Kind: Tools, Tools: tools} }
}

func TestToolsAreTakenFromTheTable(t *testing.T) {
	var kept []string
	e := &env{outputs: submitting("p")}
	note := func(id, arguments string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "note", Arguments: arguments}
	}
	m := &script{replies: []*llm.Response{
		say("", note("1", `{}`)),
		say("", note("2", `{"text":"a"}`), call("3", `{"command":"ls"}`)),
		ask("4", submit),
	}}
	j := &journal{}
	end, err := newLoop(t, withTools(BashTool(), noteTool(&kept))).Run(t.Context(), Turn{Model: m, Env: e, Recorder: j})
	if err != nil || end.Status != vocab.StatusSubmitted || string(end.Submission) != "p" {
		t.Fatalf("got %+v, %v; want status %v, submission %q, no error", end, err, vocab.StatusSubmitted, "p")
	}
	if d := cmp.Diff([]string{"a"}, kept); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"ls", submit}, e.ran); d != "" {
		t.Errorf("commands that ran in the environment (-want +got):\n%s", d)
	}
	if said := m.asked[1][1].Text(); !strings.Contains(said, "Missing 'text' argument in note tool call.") {
		t.Errorf("the model received %q", said)
	}
	i := slices.IndexFunc(end.Messages, func(m llm.Message) bool { return m.Role == llm.RoleAssistant })
	want := []Action{
		{CallID: "2", Tool: "note", Arguments: map[string]any{"text": "a"}},
		{Command: "ls", CallID: "3"},
	}
	if d := cmp.Diff(want, end.Messages[i].Extra["actions"]); d != "" {
		t.Errorf("actions (-want +got):\n%s", d)
	}
}

func TestAnInvalidToolTableIsRefused(t *testing.T) {
	for name, tools := range map[string][]Tool{
		"a name twice": {BashTool(), BashTool()},
		"no name":      {{Decode: BashTool().Decode}},
		"no decode":    {{Tool: llm.Tool{Name: "x"}}},
	} {
		c := Config{SystemTemplate: "s", InstanceTemplate: "i", Actions: ActionForm{Kind: Tools, Tools: tools}}
		if _, err := NewLoop(c); fault.KindOf(err) != fault.Bug {
			t.Errorf("%s: got %v, want a Bug fault", name, err)
		}
	}
}

func TestAnActionRunsOnlyWhenItIsApproved(t *testing.T) {
	e := &env{outputs: submitting("p")}
	m := &script{replies: []*llm.Response{
		say("", call("1", `{"command":"ls"}`), call("2", `{"command":"rm -rf /"}`), call("3", `{"command":"pwd"}`)),
		ask("4", submit),
	}}
	var asked []string
	approve := func(_ context.Context, tool string, c Call) error {
		asked = append(asked, tool+" "+c.Command)
		if strings.HasPrefix(c.Command, "rm") {
			return Interrupted("not that")
		}
		return nil
	}
	end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: e, Hooks: Hooks{Approve: approve}})
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v, no error", end, err, vocab.StatusSubmitted)
	}
	if d := cmp.Diff([]string{"bash ls", "bash rm -rf /", "bash " + submit}, asked); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"ls", submit}, e.ran); d != "" {
		t.Errorf("commands run (-want +got):\n%s", d)
	}
	var saw []string
	for _, m := range m.asked[1][3:] {
		saw = append(saw, fmt.Sprintf("%s %s %v", m.Role, m.ToolCallID(), strings.Contains(m.Text(), "not executed") || m.Text() == "not that"))
	}
	if d := cmp.Diff([]string{"tool 1 false", "tool 2 true", "tool 3 true", "user  true"}, saw); d != "" {
		t.Errorf("saw (-want +got):\n%s", d)
	}
}

func TestAnErrorOfApprovalEndsTheRun(t *testing.T) {
	away := errors.New("the person is away")
	e := &env{}
	_, err := newLoop(t, nil).Run(t.Context(), Turn{
		Model: &script{replies: []*llm.Response{ask("1", "ls")}}, Env: e,
		Hooks: Hooks{Approve: func(context.Context, string, Call) error { return away }},
	})
	if !errors.Is(err, away) || len(e.ran) > 0 {
		t.Errorf("%v, ran %v; want error %v, no commands run", err, e.ran, away)
	}
}

// An agent that reads commands in text leaves a tool call that the model made as it is.
func TestACallThatHadNoResultBeforeDoesNotForbidARewrite(t *testing.T) {
	odd := fence("a")
	odd.Message.Parts = append(odd.Message.Parts, call("1", "{}"))
	m := &script{replies: []*llm.Response{odd, fence(submit)}}
	rewrite := func(_ context.Context, c Conversation) (*Rewriting, error) {
		if len(c.Messages) < 4 {
			return nil, nil
		}
		return &Rewriting{"words", []Edit{{3, 4, []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("short")}}}}}, nil
	}
	loop := newLoop(t, func(c *Config) { c.Actions = ActionForm{Kind: Text} })
	end, err := loop.Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}, Hooks: Hooks{Rewrite: rewrite}})
	if err != nil || end.Status != vocab.StatusSubmitted || m.asked[1][3].Text() != "short" {
		t.Errorf("got %+v, %v; want status %v", end, err, vocab.StatusSubmitted)
	}
}

func TestAnInvalidRewriteIsRefused(t *testing.T) {
	for _, w := range [][]Edit{
		{{From: 3, To: 4}},
		{{From: 2, To: 3}},
		{{From: -1}},
		{{From: 2, To: 9}},
		{{From: 2, To: 1}},
		{{From: 0, To: 4}},
		{{From: 1, To: 4}, {From: 0, To: 1}},
	} {
		m := &script{replies: []*llm.Response{ask("1", "a"), ask("2", "b")}}
		_, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: &env{}, Hooks: Hooks{Rewrite: func(_ context.Context, c Conversation) (*Rewriting, error) {
			if len(c.Messages) == 4 {
				return &Rewriting{Edits: w}, nil
			}
			return nil, nil
		}}})
		if fault.KindOf(err) != fault.Bug {
			t.Errorf("got %+v: %v; want a Bug fault", w, err)
		}
	}
}

func TestATurnHasToolsOfItsOwn(t *testing.T) {
	var kept []string
	e := &env{outputs: submitting("p")}
	m := &script{replies: []*llm.Response{
		say("", llm.ToolCall{ID: "1", Name: "note", Arguments: `{"text":"a"}`}),
		ask("2", submit),
	}}
	loop := newLoop(t, nil)
	end, err := loop.Run(t.Context(), Turn{Model: m, Env: e, Tools: []Tool{noteTool(&kept)}})
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v, no error", end, err, vocab.StatusSubmitted)
	}
	if d := cmp.Diff([]string{"a"}, kept); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
	m = &script{replies: []*llm.Response{
		say("", llm.ToolCall{ID: "1", Name: "note", Arguments: `{"text":"b"}`}),
		ask("2", submit),
	}}
	e.outputs = submitting("p")
	if _, err := loop.Run(t.Context(), Turn{Model: m, Env: e}); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 || !strings.Contains(m.asked[1][1].Text(), "Unknown tool 'note'") {
		t.Errorf("another turn of the same loop: kept %q, the model received %q", kept, m.asked[1][1].Text())
	}
}

func TestToolsThatDoNotFitATurnAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		tool   Tool
		kind   fault.Kind
	}{
		"a name twice": {nil, BashTool(), fault.Bug},
		"text":         {func(c *Config) { c.Actions = ActionForm{Kind: Text} }, noteTool(nil), fault.Usage},
	} {
		end, err := newLoop(t, c.change).Run(t.Context(), Turn{Model: &script{}, Env: &env{}, Tools: []Tool{c.tool}})
		if fault.KindOf(err) != c.kind || end.Calls != 0 {
			t.Errorf("%s: %v after %d calls, want a %v fault before the first", name, err, end.Calls, c.kind)
		}
	}
}

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
