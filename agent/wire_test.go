package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// follows has the roles that may follow a role: those of mistral-common's validator, without two
// messages of the user in a row, which chat templates refuse.
var follows = map[string]string{
	llm.RoleSystem: "user", llm.RoleUser: "assistant", llm.RoleAssistant: "assistant user tool", llm.RoleTool: "assistant tool",
}

// Chat templates of some models and Mistral's servers take only some orders of roles, and servers
// refuse NUL. The conversation that is kept has each message as it was.
func TestWhatIsSentAlternatesAndHasNoNUL(t *testing.T) {
	prose, dirty := say("I think."), ask("1", "dirty")
	dirty.Message.Parts = append(llm.Say("a\x00b"), dirty.Message.Parts...)
	dirty.Message.Chat = json.RawMessage(`{"role":"assistant","content":"a\u0000b","kept":1,"tool_calls":[{"id":"1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"dirty\"}"}}]}`)
	m := &script{replies: []*llm.Response{prose, prose, dirty, prose, prose, ask("2", submit)}}
	e := &env{outputs: submitting("p")}
	e.outputs["dirty"] = printed("x\x00y\n")
	calls := 0
	admit := func() error {
		if calls++; calls == 4 {
			return Interrupted("more words")
		}
		return nil
	}
	end, err := newLoop(t, nil).Run(t.Context(), Turn{Task: "the\x00task", Say: "and\x00words", Model: m, Env: e, Admit: admit, ModelFacts: ModelFacts{StrictRoles: true}})
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v", end, err, vocab.StatusSubmitted)
	}
	for i, sent := range m.asked {
		for n, msg := range sent {
			if n > 0 && !strings.Contains(follows[sent[n-1].Role], msg.Role) {
				t.Errorf("request %d: role %s after role %s", i+1, msg.Role, sent[n-1].Role)
			}
			if text, _ := json.Marshal(msg); strings.Contains(string(text), `\u0000`) {
				t.Errorf("request %d: message %d has NUL: %s", i+1, n+1, text)
			}
		}
	}
	last := m.asked[len(m.asked)-1]
	if got := strings.Split(last[1].Text(), llm.Between); len(got) != 4 || !strings.Contains(got[0], "the\uFFFDtask") || got[1] != "and\uFFFDwords" || got[2] != got[3] {
		t.Errorf("the first message of the user is %q, want the task, the words and two errors", got)
	}
	if text, _ := json.Marshal(last[2]); !strings.Contains(string(text), `"kept":1`) || last[2].Text() != "a\uFFFDb" {
		t.Errorf("the reply went back as %s, want it without NUL", text)
	}
	if got := strings.Split(last[3].Text(), llm.Between); len(got) != 4 || !strings.Contains(got[0], "x\uFFFDy") || got[1] != "more words" || got[2] != got[3] {
		t.Errorf("the tool's result is %q, want the output, the words and two errors", got)
	}
	want := []string{"system", "user", "user", "user", "user", "assistant", "tool", "user", "user", "user", "assistant", "exit"}
	if d := cmp.Diff(want, roles(end.Messages)); d != "" {
		t.Errorf("roles of the messages that are kept (-want +got):\n%s", d)
	}
	if text := end.Messages[6].Text(); !strings.Contains(text, "x\x00y") {
		t.Errorf("kept %q, want the output as it was", text)
	}
}

// Where roles are not strict, what the user says after a result stays the user's.
func TestWhatTheUserSaysAfterAResultIsAMessageOfTheUser(t *testing.T) {
	messages := []llm.Message{
		{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: "1", Parts: llm.Say("out")}}},
		{Role: llm.RoleUser, Parts: llm.Say("stop")},
		{Role: llm.RoleUser, Parts: llm.Say("now")},
	}
	if got := wire(messages, false); len(got) != 2 || got[0].Text() != "out" || got[1].Role != llm.RoleUser || got[1].Text() != "stop"+llm.Between+"now" {
		t.Errorf("sent %+v", got)
	}
}

func TestNULIsReplacedWhereverAModelWroteIt(t *testing.T) {
	for chat, want := range map[string]string{
		`{"content":[{"type":"text","text":"a\u0000\u0000b"}]}`:                                          `{"content":[{"type":"text","text":"a\ufffd\ufffdb"}]}`,
		`{"content":"\\u0000 \\\u0000"}`:                                                                 `{"content":"\\u0000 \\\ufffd"}`,
		`{"reasoning_content":"\u0000"}`:                                                                 `{"reasoning_content":"\ufffd"}`,
		`{"reasoning_details":[{"text":"\u0000","signature":"s"}]}`:                                      `{"reasoning_details":[{"text":"\u0000","signature":"s"}]}`,
		`{"tool_calls":[{"function":{"arguments":"{\"a\":\"\\u0000\\u0000 \\\\u0000 \\\"\\u0000\"}"}}]}`: `{"tool_calls":[{"function":{"arguments":"{\"a\":\"\\ufffd\\ufffd \\\\u0000 \\\"\\ufffd\"}"}}]}`,
	} {
		if got := wire([]llm.Message{{Role: llm.RoleAssistant, Chat: json.RawMessage(chat)}}, false)[0].Chat; string(got) != want {
			t.Errorf("%s is sent as %s, want %s", chat, got, want)
		}
	}
	call := llm.ToolCall{ID: "1", Name: "edit", Arguments: `{"text":"\u0000 \\u0000"}`}
	sent := wire([]llm.Message{{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Reasoning{Text: "a\x00"}, call}}}, false)[0].Parts
	if d := cmp.Diff([]llm.Part{llm.Reasoning{Text: "a\uFFFD"}, llm.ToolCall{ID: "1", Name: "edit", Arguments: `{"text":"\ufffd \\u0000"}`}}, sent); d != "" {
		t.Errorf("parts (-want +got):\n%s", d)
	}
}
