package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// talk is a session of three turns in which the model asks, and ends turns without calls.
type talk struct {
	t     *testing.T
	dir   string
	calls int // made in all processes

	mu  sync.Mutex
	ran []string // in all processes; reads run at the same time
}

var talked = [][]llm.Part{
	llm.Say("", llm.ToolCall{ID: "1", Name: "bash", Arguments: `{"command":"do 1"}`}, llm.ToolCall{ID: "2", Name: "ask", Arguments: `{"question":"Which?"}`},
		llm.ToolCall{ID: "3", Name: "bash", Arguments: `{"command":"do 2"}`}),
	llm.Say("", llm.ToolCall{ID: "4", Name: "look", Arguments: `{"command":"look a"}`}, llm.ToolCall{ID: "5", Name: "look", Arguments: `{"command":"look b"}`}),
	llm.Say("It is done."),
	llm.Say("Good bye."),
}

var saidWords = []string{"Make it.", "The left one.", "Thanks."}

// answering is a model that has said some of its replies before.
type answering struct {
	*talk
	said int
}

func (a *answering) Generate(context.Context, *llm.Request) (*llm.Response, error) {
	a.calls++
	if a.said == len(talked) {
		return nil, errors.New("there are no more replies")
	}
	a.said++
	return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: talked[a.said-1]}, Cost: 1, Priced: true}, nil
}

// Execute implements [session.Environment].
func (k *talk) Execute(_ context.Context, _, command string) (vocab.Output, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ran = append(k.ran, command)
	return vocab.Output{Bytes: []byte(command), Total: int64(len(command))}, nil
}

// Vars implements [session.Environment].
func (*talk) Vars() map[string]any { return nil }

// process opens the session and makes a turn, as a process of its own. It returns how that
// ended, and what remains to be said.
func (k *talk) process() (res *session.Result, left []string) {
	k.t.Helper()
	look := agent.BashTool()
	look.Name, look.ReadOnly = "look", func(agent.Call) bool { return true }
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate: "s", InstanceTemplate: "{{task}}", ObservationTemplate: "{{output.output}}{{output.exception_info}}", FinishWithoutCalls: true,
		Actions: agent.ActionForm{Kind: agent.Tools, Tools: []agent.Tool{agent.BashTool(), look}, Ask: true},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	store, err := openIn(k.dir, "c")
	if err != nil {
		k.t.Fatal(err)
	}
	defer store.Close()
	h, err := store.HistoryHere()
	if err != nil {
		k.t.Fatal(err)
	}
	m, in := &answering{talk: k}, session.Input{}
	begun := 0
	if h != nil {
		for _, s := range h.Steps {
			if s.Reply != nil {
				m.said++
			}
		}
		begun = len(h.Turns)
	}
	if begun == 0 || !h.Turn().Open() {
		if begun == len(saidWords) {
			return nil, nil
		}
		in.Words = saidWords[begun]
		begun++
	}
	s := session.New(session.Config{ContextID: "c", Store: store, Loop: loop})
	if err := s.Start(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	in.Model, in.Env = m, k
	if res, err = s.Turn(k.t.Context(), in); err != nil {
		k.t.Fatal(err)
	}
	if err := s.Shutdown(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	return res, saidWords[begun:]
}

// messages is the conversation in the store.
func (k *talk) messages() (list []string) {
	k.t.Helper()
	h, err := journal.ReadHistory(filepath.Join(k.dir, "c", "journal.jsonl"))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, raw := range h.Messages {
		var m llm.Message
		if err := m.UnmarshalJSON(raw); err != nil {
			k.t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %s", m.Role, m.ToolCallID(), strings.TrimSpace(m.Text())))
	}
	return list
}

// A question is answered in the next turn, in another process; a turn also ends with a reply
// that calls nothing. After a crash at any record, both end as they would have, and nothing that is in
// the journal is asked or done again.
func TestQuestionsAndAnswersOutliveAProcess(t *testing.T) {
	whole := &talk{t: t, dir: t.TempDir()}
	for i, want := range []session.Result{
		{End: journal.TurnInputRequired, Question: "Which?"},
		{End: journal.TurnFinished, Answer: "It is done."},
		{End: journal.TurnFinished, Answer: "Good bye."},
	} {
		res, _ := whole.process()
		if res.End != want.End || res.Question != want.Question || want.Answer != "" && res.Answer != want.Answer {
			t.Fatalf("turn %d ended with %+v, want %+v", i+1, res, want)
		}
	}
	want := whole.messages()
	ran := []string{"do 1", "look a", "look b"}
	slices.Sort(whole.ran)
	if !slices.Equal(whole.ran, ran) {
		t.Fatalf("ran %q, want %q", whole.ran, ran)
	}
	if d := cmp.Diff([]string{
		"system  s", "user  Make it.", "assistant  ", "tool 1 do 1", "exit  Which?",
		"tool 2 The left one.", "tool 3 action was not executed", "assistant  ", "tool 4 look a", "tool 5 look b", "assistant  It is done.", "exit  Answered",
		"user  Thanks.", "assistant  Good bye.", "exit  Answered",
	}, want); d != "" {
		t.Fatalf("the conversation (-want +got):\n%s", d)
	}
	data, err := os.ReadFile(filepath.Join(whole.dir, "c", "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	for cut := 1; cut < len(lines); cut++ {
		k := &talk{t: t, dir: t.TempDir()}
		if err := os.Mkdir(filepath.Join(k.dir, "c"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(k.dir, "c", "journal.jsonl"), bytes.Join(lines[:cut], nil), 0o600); err != nil {
			t.Fatal(err)
		}
		for range saidWords {
			if res, left := k.process(); res == nil || len(left) == 0 {
				break
			}
		}
		if d := cmp.Diff(want, k.messages()); d != "" {
			t.Errorf("cut after record %d, %.60s (-want +got):\n%s", cut, lines[cut-1], d)
		}
		count := func(typ string) int { return bytes.Count(bytes.Join(lines[:cut], nil), []byte(`"type":"`+typ+`"`)) }
		if known := count(journal.TypeReply); k.calls+known != len(talked) {
			t.Errorf("cut after record %d: %d calls with %d replies known, want %d in all", cut, k.calls, known, len(talked))
		}
		slices.Sort(k.ran)
		if known := count(journal.TypeOutput); !slices.Equal(k.ran, ran[known:]) {
			t.Errorf("cut after record %d: %q ran with %d outputs known, want the rest of %q", cut, k.ran, known, ran)
		}
	}
}
