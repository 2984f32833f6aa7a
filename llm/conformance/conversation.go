package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/stub"
)

// textReply checks the request of a plain question, and the parts of a plain answer.
func (s *suite) textReply() {
	long := strings.Repeat("An answer with é, <b> & 😀. ", 40)
	at, m := s.serve(stub.Answer{Content: long, Model: s.model + "-2026"})
	resp := s.generate(m, ask())
	if got := resp.Message.Text(); got != long {
		s.Errorf("read %q, want %q", got, long)
	}
	if resp.Model != s.model+"-2026" {
		s.Errorf("the answer's model is %q, want %q as the provider reports", resp.Model, s.model+"-2026")
	}
	r := last(at)
	if r.Model != s.model || r.System() != "You are a helpful assistant." || r.Task() != ask().Messages[1].Text() {
		s.Errorf("asked model %q with system %q and task %q, want the request's", r.Model, r.System(), r.Task())
	}
	if len(r.Tools) != 1 || r.Tools[0].Function.Name != "bash" || !strings.Contains(string(r.Tools[0].Function.Parameters), "command") {
		s.Errorf("offered %+v, want the tool bash with its parameters", r.Tools)
	}
	if r.Stream != s.stream {
		s.Errorf("asked for a stream: %v, want %v", r.Stream, s.stream)
	}
	req := ask()
	req.Tools = nil
	s.generate(m, req)
	if len(last(at).Tools) != 0 || last(at).Members["tools"] != nil {
		s.Errorf("offered %s without tools in the request, want none", last(at).Members["tools"])
	}
	observed(req, resp)
	said(req, "Again.")
	s.generate(m, req)
	checkTurns(s, last(at), []string{"system", "user", "assistant", "user"})
}

// checkTurns compares the speakers of a request.
func checkTurns(s *suite, r *stub.Request, want []string) {
	s.Helper()
	var got []string
	for _, t := range r.Turns() {
		got = append(got, t.Role)
	}
	if !slices.Equal(got, want) {
		s.Errorf("the request has turns of %v, want %v", got, want)
	}
}

// toolCalls checks that calls are read, and are sent back with all their results.
func (s *suite) toolCalls() {
	for _, n := range []int{1, 3} {
		a := stub.Answer{Content: "Let me look."}
		for i := range n {
			a.ToolCalls = append(a.ToolCalls, stub.BashCall("", fmt.Sprintf("cat 'file %d' > \"é\" && x", i)))
		}
		if n == 3 {
			a.ToolCalls[1].ID, a.ToolCalls[0].ID, a.ToolCalls[2].ID = "call_b", "call_a", "call_c"
		}
		at, m := s.serve(a, stub.Text("Done."))
		req := ask()
		resp := s.generate(m, req)
		calls := resp.Message.ToolCalls()
		if len(calls) != n || resp.Message.Text() != a.Content {
			s.Fatalf("read %d calls and %q, want %d and %q", len(calls), resp.Message.Text(), n, a.Content)
		}
		for i, c := range calls {
			if c.Name != "bash" || !sameJSON(c.Arguments, a.ToolCalls[i].Arguments) {
				s.Errorf("call %d is %s(%s), want %s(%s)", i, c.Name, c.Arguments, "bash", a.ToolCalls[i].Arguments)
			}
			if c.ID == "" && s.Protocol != stub.Gemini {
				s.Errorf("call %d has no id, want the provider's", i)
			}
		}
		observed(req, resp)
		said(req, "Continue.")
		s.generate(m, req)
		s.checkResults(last(at), n)
		if bytes.Contains(last(at).Body, []byte(note)) {
			s.Errorf("sent %s, want no part of a message's extra", last(at).Body)
		}
	}
}

// checkResults checks that a request has the results of n calls in order.
func (s *suite) checkResults(r *stub.Request, n int) {
	s.Helper()
	var calls, answered []string
	var texts string
	for _, t := range r.Turns() {
		for _, c := range t.ToolCalls() {
			calls = append(calls, c.ID)
		}
		for _, p := range t.Parts {
			if result, ok := p.(llm.ToolResult); ok {
				answered = append(answered, result.CallID)
				texts += llm.Message{Parts: result.Parts}.Text()
			}
		}
	}
	if len(answered) != n || !slices.Equal(calls, answered) {
		s.Errorf("results for %v after calls %v, want one for each in order", answered, calls)
	}
	for i := range n {
		if !strings.Contains(texts, fmt.Sprintf("output %d of bash", i+1)) {
			s.Errorf("the results say %q, want output %d", texts, i+1)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}

// thinking returns three turns of a model that thinks.
func (s *suite) thinking() []stub.Answer {
	first := stub.Answer{Reasoning: "I should look at the files first. 😀", ToolCalls: []llm.ToolCall{stub.BashCall("", "ls")}}
	second := stub.Answer{Reasoning: "There are two of them.", Content: "I read both.", ToolCalls: []llm.ToolCall{
		stub.BashCall("", "cat a"), stub.BashCall("", "cat b"),
	}}
	if s.Protocol != stub.Gemini {
		second.Parts = []llm.Part{
			llm.Reasoning{}, llm.Reasoning{Text: "There are two of them."}, llm.Text{Text: "I read both."}, second.ToolCalls[0], second.ToolCalls[1],
		}
	}
	third := stub.Answer{Reasoning: "That is all.", Content: "It is fixed."}
	if s.Protocol == stub.Chat { // the ids of calls must be unique
		first.Message = map[string]any{"n": 12345678901234567}
		first.ToolCalls[0].ID, second.ToolCalls[0].ID, second.ToolCalls[1].ID = "call_a", "call_b", "call_c"
		if second.Parts != nil {
			second.Parts[3], second.Parts[4] = second.ToolCalls[0], second.ToolCalls[1]
		}
	}
	return []stub.Answer{first, second, third}
}

// thoughtful plays a whole conversation with a model that thinks. It returns the server, the last request and
// the answers with thoughts.
func (s *suite) thoughtful() (*stub.Server, *llm.Request, []stub.Answer) {
	answers := s.thinking()
	at, m := s.serve(append(answers, stub.Text("You are welcome."))...)
	req := ask()
	for range answers {
		observed(req, s.generate(m, req))
	}
	said(req, "Thank you.")
	s.generate(m, req)
	return at, req, answers
}

// reasoning checks that thoughts are read, and that all that came with an answer is sent back exactly as the
// provider wrote it. Its order is among the stub's rules.
func (s *suite) reasoning() {
	at, req, answers := s.thoughtful()
	sent := last(at).Body
	for i, msg := range assistants(req) {
		if got, want := thoughtsOf(msg), answers[i].Reasoning; !strings.Contains(got, want) {
			s.Errorf("answer %d was read with the thoughts %q, want %q", i+1, got, want)
		}
		kept := []string{string(msg.Chat)}
		for _, p := range msg.Parts {
			kept = append(kept, opaqueOf(p).Data)
		}
		for _, data := range kept {
			if data = strings.TrimSuffix(data, "}"); !bytes.Contains(sent, []byte(data)) { // further members may follow
				s.Errorf("answer %d goes back without %s, want it unchanged", i+1, data)
			}
		}
		if strings.Join(kept, "") == "" {
			s.Errorf("answer %d was read without a signature, want the provider's", i+1)
		}
	}
}

func opaqueOf(p llm.Part) llm.Opaque {
	switch p := p.(type) {
	case llm.Text:
		return p.Opaque
	case llm.Reasoning:
		return p.Opaque
	case llm.ToolCall:
		return p.Opaque
	}
	return llm.Opaque{}
}

func assistants(req *llm.Request) (list []llm.Message) {
	for _, m := range req.Messages {
		if m.Role == llm.RoleAssistant {
			list = append(list, m)
		}
	}
	return list
}

// thoughtsOf returns the thoughts that a message has in parts or, in chat completions, in the provider's object.
func thoughtsOf(m llm.Message) (all string) {
	for _, p := range m.Parts {
		if r, ok := p.(llm.Reasoning); ok {
			all += r.Text
		}
	}
	var chat struct{ Reasoning string }
	_ = json.Unmarshal(m.Chat, &chat)
	return all + chat.Reasoning
}

// resumed checks that a new process, which reads a conversation from a journal, continues it with the same
// bytes.
func (s *suite) resumed() {
	at, req, _ := s.thoughtful()
	want := last(at).Body
	data, err := json.Marshal(req.Messages)
	if err != nil {
		s.Fatal(err)
	}
	var read []llm.Message
	if err := json.Unmarshal(data, &read); err != nil {
		s.Fatal(err)
	}
	for name, memo := range map[string]*llm.Memo{"with a memo": new(llm.Memo), "without a memo": nil} {
		again := &llm.Request{Messages: read, Tools: req.Tools, Memo: memo}
		s.generate(s.open(s.config(at)), again)
		if got := last(at).Body; !bytes.Equal(withoutMarks(got), withoutMarks(want)) {
			s.Errorf("%s, the resumed conversation sends\n%s\nwant the bytes of the first process\n%s", name, got, want)
		}
	}
}

// growing checks that each request begins with the messages of the previous one, byte for byte, so that the
// provider's prompt cache is used, and that nothing else changes.
func (s *suite) growing() {
	at, _, _ := s.thoughtful()
	all := at.Requests()
	for i := 1; i < len(all); i++ {
		before, after := all[i-1], all[i]
		for j, m := range before.Messages {
			// The last message may grow: results and words of the user may be one message.
			if j == len(before.Messages)-1 && len(after.Messages) > j && m.Role == "user" {
				continue
			}
			if len(after.Messages) <= j || !bytes.Equal(withoutMarks(m.Raw), withoutMarks(after.Messages[j].Raw)) {
				s.Errorf("message %d of request %d differs from the request before: want\n%s", j, i+1, m.Raw)
			}
		}
		for name, value := range before.Members {
			if name != "messages" && name != "contents" && name != "input" && !bytes.Equal(withoutMarks(value), withoutMarks(after.Members[name])) {
				s.Errorf("member %s of request %d is %s, want %s as before", name, i+1, after.Members[name], value)
			}
		}
	}
}

// withoutMarks removes the marks of cache breakpoints, which move.
func withoutMarks(data []byte) []byte {
	for _, ttl := range []string{"", `,"ttl":"1h"`, `,"ttl":"5m"`} {
		mark := []byte(`"cache_control":{"type":"ephemeral"` + ttl + `}`)
		data = bytes.ReplaceAll(data, append([]byte(`,`), mark...), nil)
		data = bytes.ReplaceAll(data, append(mark, ','), nil)
	}
	return data
}

// Step is one request of a conversation, and the function that encodes it.
type Step struct {
	Encode  func(*llm.Request) (history.Body, error)
	Request llm.Request
}

// Memo checks that requests encoded with a shared memo equal those encoded without one, whatever happened to
// the conversation in between, and that no step changes the bytes of an earlier one.
func Memo(t *testing.T, steps []Step) {
	t.Helper()
	var memo llm.Memo
	kept, want := make([]history.Body, len(steps)), make([]string, len(steps))
	for i, s := range steps {
		want[i] = s.Sent(t)
		s.Request.Memo = &memo
		kept[i] = s.body(t)
		if got := sent(t, kept[i]); got != want[i] {
			t.Errorf("step %d:\ngot  %s\nwant %s", i, got, want[i])
		}
	}
	for i, body := range kept {
		if got := sent(t, body); got != want[i] {
			t.Errorf("the request of step %d is now %s, want %s as before", i, got, want[i])
		}
	}
}

// Sent returns the JSON that is sent to the server.
func (s Step) Sent(t testing.TB) string {
	t.Helper()
	return sent(t, s.body(t))
}

func (s Step) body(t testing.TB) history.Body {
	t.Helper()
	body, err := s.Encode(&s.Request)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func sent(t testing.TB, body history.Body) string {
	t.Helper()
	text, err := io.ReadAll(body.Reader())
	if err != nil || !json.Valid(text) {
		t.Fatalf("the request is %s (%v), want JSON", text, err)
	}
	return string(text)
}
