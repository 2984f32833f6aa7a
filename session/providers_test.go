package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/gemini"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/responses"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// provider is a provider to test sessions with.
type provider struct {
	protocol stub.Protocol
	model    string
	open     func(endpoint.Config) (llm.Model, error)
	text     bool // the agent has no tools
	kwargs   map[string]any
}

func providers() map[string]provider {
	chat := func(c endpoint.Config) (llm.Model, error) { return openai.New(c) }
	respond := func(c endpoint.Config) (llm.Model, error) { return responses.New(c) }
	claude := func(c endpoint.Config) (llm.Model, error) { return anthropic.New(c) }
	google := func(c endpoint.Config) (llm.Model, error) { return gemini.New(c) }
	streams := map[string]any{"stream": true}
	return map[string]provider{
		"chat":                {protocol: stub.Chat, model: "m", open: chat},
		"chat, streamed":      {protocol: stub.Chat, model: "m", open: chat, kwargs: streams},
		"chat, text":          {protocol: stub.Chat, model: "m", open: chat, text: true},
		"responses":           {protocol: stub.Responses, model: "gpt-5", open: respond},
		"responses, streamed": {protocol: stub.Responses, model: "gpt-5", open: respond, kwargs: streams},
		"responses, text":     {protocol: stub.Responses, model: "gpt-5", open: respond, text: true},
		"anthropic":           {protocol: stub.Anthropic, model: "claude-sonnet-4-5", open: claude},
		"anthropic, whole":    {protocol: stub.Anthropic, model: "claude-sonnet-4-5", open: claude, kwargs: map[string]any{"stream": false}},
		"anthropic, text":     {protocol: stub.Anthropic, model: "claude-sonnet-4-5", open: claude, text: true},
		"gemini":              {protocol: stub.Gemini, model: "gemini-3-pro-preview", open: google},
		"gemini, streamed":    {protocol: stub.Gemini, model: "gemini-3-pro-preview", open: google, kwargs: streams},
		"gemini, text":        {protocol: stub.Gemini, model: "gemini-3-pro-preview", open: google, text: true},
	}
}

// The words of the turns, and what the provider answers to the requests. The second turn of an
// agent with tools ends with a question.
var (
	sayings = []string{"fix <it> & \u00e9\U0001f600", "now the tests", "the second", "thanks"}

	withTools = []stub.Answer{
		{Reasoning: "think 1", Content: "I look.", ToolCalls: []llm.ToolCall{stub.BashCall("", "one")}},
		{Reasoning: "think 2", ToolCalls: []llm.ToolCall{stub.BashCall("", "echo \"two\""), stub.BashCall("", "three")}},
		{Reasoning: "think 3", Content: "done 1"},
		{Reasoning: "think 4", ToolCalls: []llm.ToolCall{{Name: "ask", Arguments: `{"question":"which one?"}`}}},
		{Parts: []llm.Part{llm.Reasoning{Text: "think 5"}, llm.Text{Text: "so the second"}, stub.BashCall("", "four")}},
		{Reasoning: "think 6", Content: "done 3"},
		{Content: "bye"},
	}
	inText = []stub.Answer{
		fence("one"), fence("two"), fence("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
		fence("three"), fence("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
		fence("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"), fence("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
	}
)

func fence(command string) stub.Answer {
	return stub.Answer{Reasoning: "think of " + command, Content: "```mswea_bash_command\n" + command + "\n```"}
}

func (p provider) answers() []stub.Answer {
	if p.text {
		return inText
	}
	return withTools
}

func (p provider) form() agent.ActionForm {
	if p.text {
		return agent.ActionForm{Kind: agent.Text}
	}
	return tools()
}

// connect starts a server of the provider's and opens its model.
func (p provider) connect(t *testing.T) (*stub.Server, llm.Model) {
	t.Helper()
	s := stub.NewServer(t, p.answers()...)
	m, err := p.open(endpoint.Config{Model: p.model, BaseURL: s.Base(p.protocol), APIKey: "k", Kwargs: p.kwargs, IgnoreCost: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// A session that is closed and opened again before each turn sends what one agent sends that
// keeps all messages in memory, to the last signature.
func TestASessionOfEachProviderSendsItsWholeConversation(t *testing.T) {
	for name, p := range providers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, model := p.connect(t)
			k := newScene(t, p.form())
			for _, words := range sayings {
				in := k.input(words)
				in.Model = model
				k.say(in)
			}
			control, model := p.connect(t)
			kept := agent.Turn{Task: sayings[0], Model: model, Env: inMemory{k}}
			for i := range sayings {
				end, err := k.loop().Run(t.Context(), kept)
				if err != nil {
					t.Fatal(err)
				}
				kept.Messages, kept.Calls = end.Messages, end.Calls
				if i+1 < len(sayings) {
					kept.Say = sayings[i+1]
				}
			}
			got, want := server.Requests(), control.Requests()
			if len(got) != len(p.answers()) || len(want) != len(got) {
				t.Fatalf("made %d calls, and %d from memory; want %d", len(got), len(want), len(p.answers()))
			}
			for i := range got {
				if !sameJSON(t, got[i].Body, want[i].Body) {
					t.Errorf("request %d differs from the one from memory: %s", i+1, cmp.Diff(turnsOf(want[i]), turnsOf(got[i])))
				}
			}
			p.checkLast(t, got[len(got)-1])
		})
	}
}

// inMemory runs the commands of an agent without a session.
type inMemory struct{ *scene }

// Execute implements [agent.Environment].
func (m inMemory) Execute(ctx context.Context, command string) (vocab.Output, error) {
	return m.env.Execute(ctx, "", command)
}

// Vars implements [agent.Environment].
func (m inMemory) Vars() map[string]any { return nil }

// checkLast holds that the last request has everything that was said.
func (p provider) checkLast(t *testing.T, r *stub.Request) {
	t.Helper()
	var said []string
	replies := 0
	for _, m := range r.Turns() {
		switch m.Role {
		case llm.RoleAssistant:
			a := p.answers()[replies]
			replies++
			p.checkReply(t, replies, m, a)
		case llm.RoleUser, llm.RoleTool:
			for _, part := range m.Parts {
				if result, ok := part.(llm.ToolResult); ok {
					said = append(said, llm.Message{Parts: result.Parts}.Text())
				}
			}
			said = append(said, m.Text())
		}
	}
	if replies != len(p.answers())-1 {
		t.Errorf("the last request has %d replies, want %d", replies, len(p.answers())-1)
	}
	all := strings.Join(said, "\n")
	for _, words := range append([]string{"output of one", "output of three"}, sayings...) {
		if !strings.Contains(all, words) {
			t.Errorf("the last request does not have %q", words)
		}
	}
}

// checkReply holds that a reply went back as it came. The thoughts of turns before may be
// left out, but not so that a signature is lost which is checked: the stub does that.
func (p provider) checkReply(t *testing.T, n int, got llm.Message, sent stub.Answer) {
	t.Helper()
	want := llm.Message{Parts: sent.Parts}
	if sent.Parts == nil {
		want.Parts = llm.Say(sent.Content, sent.ToolCalls...)
	}
	if got.Text() != want.Text() {
		t.Errorf("reply %d went back with the text %q, want %q", n, got.Text(), want.Text())
	}
	calls := got.ToolCalls()
	for i, c := range want.ToolCalls() {
		if i >= len(calls) || calls[i].Name != c.Name || !sameJSON(t, []byte(calls[i].Arguments), []byte(c.Arguments)) {
			t.Errorf("reply %d went back with the calls %+v, want %+v", n, calls, want.ToolCalls())
			break
		}
	}
	signed := p.text && p.protocol != stub.Anthropic && p.protocol != stub.Responses || sent.Content == "bye"
	for _, part := range got.Parts {
		switch part := part.(type) {
		case llm.Reasoning:
			signed = signed || part.Opaque.Data != ""
		case llm.ToolCall:
			signed = signed || part.Opaque.Data != ""
		case llm.Text:
			signed = signed || part.Opaque.Data != ""
		}
	}
	if !signed && (p.protocol != stub.Gemini || len(calls) > 0) {
		t.Errorf("reply %d went back without a signature: %s", n, fmt.Sprint(got.Parts))
	}
}

// turnsOf has the messages of a request in the provider's form.
func turnsOf(r *stub.Request) (list []any) {
	for _, m := range r.Messages {
		var v any
		if json.Unmarshal(m.Raw, &v) == nil {
			list = append(list, v)
		}
	}
	return list
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for text, to := range map[*[]byte]*any{&a: &x, &b: &y} {
		if err := json.Unmarshal(*text, to); err != nil {
			t.Errorf("%s: %v", *text, err)
		}
	}
	return reflect.DeepEqual(x, y)
}
