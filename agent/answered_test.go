package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func finishing(c *Config) { c.FinishWithoutCalls = true }

func TestAReplyWithoutCallsEndsTheRunWhereTheConfigSaysSo(t *testing.T) {
	m, j := &script{replies: []*llm.Response{ask("1", "ls"), say("It is done.")}}, &journal{}
	loop := newLoop(t, finishing)
	end, err := loop.Run(t.Context(), Turn{Model: m, Env: &env{}, Recorder: j})
	if err != nil || end.Status != vocab.StatusAnswered || end.Submitted || end.Submission != nil || end.Calls != 2 {
		t.Fatalf("got %+v, %v; want status %v, no submission, 2 calls, no error", end, err, vocab.StatusAnswered)
	}
	if d := cmp.Diff([]string{"system", "user", "assistant", "tool", "assistant", "exit"}, roles(end.Messages)); d != "" {
		t.Errorf("roles of the messages (-want +got):\n%s", d)
	}
	if got := end.Messages[4].Text(); got != "It is done." || end.Messages[5].Extra["exit_status"] != "Answered" {
		t.Errorf("the run ends with %q and %v, want the answer and the status", got, end.Messages[5].Extra)
	}
	if got, want := strings.Join(j.types(), " "), "request reply messages interrupt messages end"; !strings.HasSuffix(got, want) {
		t.Errorf("recorded %s, want %s at the end", got, want)
	}

	// The talk can continue.
	m.replies = []*llm.Response{ask("2", submit)}
	end, err = loop.Run(t.Context(), Turn{Messages: end.Messages, Say: "Submit it.", Model: m, Env: &env{outputs: submitting("p")}})
	if err != nil || end.Status != vocab.StatusSubmitted || string(end.Submission) != "p" {
		t.Fatalf("got %+v, %v; want status %v, no error", end, err, vocab.StatusSubmitted)
	}
	if d := cmp.Diff([]string{"system", "user", "assistant", "tool", "assistant", "user"}, roles(m.asked[2])); d != "" {
		t.Errorf("roles of the request (-want +got):\n%s", d)
	}
}

func TestAReplyWithoutCallsIsAFormatErrorOtherwise(t *testing.T) {
	cut, calls := say("I will now"), say("I will now")
	cut.FinishReason, calls.FinishReason = "length", "tool_calls"
	for name, c := range map[string]struct {
		change func(*Config)
		reply  *llm.Response
	}{
		"by default":            {nil, say("It is done.")},
		"an empty reply":        {finishing, say("")},
		"white space":           {finishing, say(" \n")},
		"cut off at its length": {finishing, cut},
		"cut off before a call": {finishing, calls},
		"a call that is wrong":  {finishing, say("So", call("1", "{}"))},
	} {
		m := &script{replies: []*llm.Response{c.reply, ask("1", submit)}}
		end, err := newLoop(t, c.change).Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}})
		if err != nil || end.Status != vocab.StatusSubmitted || len(m.asked) != 2 {
			t.Errorf("%s: got %+v, %v after %d requests; want status %v after 2", name, end, err, len(m.asked), vocab.StatusSubmitted)
		}
	}
}

func TestFormsInTextHaveNoTools(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"agent.finish_without_calls": finishing,
		"agent.ask":                  func(c *Config) { c.Actions.Ask = true },
	} {
		c := Config{SystemTemplate: "s", InstanceTemplate: "i", Actions: ActionForm{Kind: Text}}
		change(&c)
		if _, err := NewLoop(c); fault.KindOf(err) != fault.Usage || !strings.HasPrefix(err.Error(), key+" needs") {
			t.Errorf("%s: %v, want a Usage fault that names it", key, err)
		}
	}
}

func asking(kind FormKind) func(*Config) {
	return func(c *Config) { c.Actions = ActionForm{Kind: kind, Ask: true} }
}

func question(id, words string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "ask", Arguments: fmt.Sprintf(`{"question":%q}`, words)}
}

func TestTheModelAsksAPerson(t *testing.T) {
	for _, kind := range []FormKind{ToolCall, Tools} {
		t.Run(kind.String(), func(t *testing.T) {
			e, j := &env{outputs: submitting("p")}, &journal{}
			m := &script{replies: []*llm.Response{say("Hm", call("1", `{"command":"ls"}`), question("2", "Which one?"), call("3", `{"command":"rm x"}`))}}
			approved := 0
			turn := Turn{Model: m, Env: e, Recorder: j, Hooks: Hooks{Approve: func(context.Context, string, Call) error { approved++; return nil }}}
			end, err := newLoop(t, asking(kind)).Run(t.Context(), turn)
			if err != nil || end.Status != vocab.StatusInputRequired || end.Question != "Which one?" || approved != 1 {
				t.Fatalf("got %+v, %v, approved %d; want status %v, the question, 1 approved", end, err, approved, vocab.StatusInputRequired)
			}
			if d := cmp.Diff([]string{"ls"}, e.ran); d != "" {
				t.Errorf("commands run (-want +got):\n%s", d)
			}
			if got, want := strings.Join(j.types(), " "), "action output interrupt messages end"; !strings.HasSuffix(got, want) {
				t.Errorf("recorded %s, want %s at the end", got, want)
			}
			last := end.Messages[len(end.Messages)-1]
			if last.Role != llm.RoleExit || last.Text() != "Which one?" || last.Extra["exit_status"] != "InputRequired" {
				t.Errorf("the last message is %+v, want the question as exit", last)
			}

			// Another process has the messages from the journal.
			var history []llm.Message
			for _, m := range end.Messages {
				text, err := m.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				var read llm.Message
				if err := read.UnmarshalJSON(text); err != nil {
					t.Fatal(err)
				}
				history = append(history, read)
			}
			m.replies = []*llm.Response{ask("4", submit)}
			end, err = newLoop(t, asking(kind)).Run(t.Context(), Turn{Messages: history, Say: "The left one.", Model: m, Env: e})
			if err != nil || end.Status != vocab.StatusSubmitted || end.Question != "" {
				t.Fatalf("got %+v, %v; want status %v, no question", end, err, vocab.StatusSubmitted)
			}
			var saw []string
			for _, m := range m.asked[1][2:] {
				saw = append(saw, fmt.Sprintf("%s %s %v", m.Role, m.ToolCallID(), m.Text() == "The left one." || strings.Contains(m.Text(), "not executed")))
			}
			if d := cmp.Diff([]string{"assistant  false", "tool 1 false", "tool 2 true", "tool 3 true"}, saw); d != "" {
				t.Errorf("the model saw (-want +got):\n%s", d)
			}
		})
	}
}

func TestAnUnansweredQuestionIsNotExecuted(t *testing.T) {
	m := &script{replies: []*llm.Response{say("", question("1", "Which?"))}}
	loop := newLoop(t, asking(ToolCall))
	end, err := loop.Run(t.Context(), Turn{Model: m, Env: &env{}})
	if err != nil {
		t.Fatal(err)
	}
	m.replies = []*llm.Response{ask("2", submit)}
	_, err = loop.Run(t.Context(), Turn{Messages: end.Messages, Model: m, Env: &env{outputs: submitting("p")}})
	if err != nil || len(m.asked[1]) != 4 || !strings.Contains(m.asked[1][3].Text(), "not executed") {
		t.Errorf("asked with %+v, %v; want that the call was not executed", m.asked[1], err)
	}
}

// A question that a crash left in the journal may be answered already.
func TestAnUnfinishedQuestionIsAskedOrAnswered(t *testing.T) {
	history := []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}, {Role: llm.RoleUser, Parts: llm.Say("t")}}
	unfinished := func() *Unfinished {
		return &Unfinished{
			Reply:   say("", call("1", `{"command":"ls"}`), question("2", "Which?"), call("3", `{"command":"ls"}`)),
			Outputs: []vocab.Output{printed("A")},
		}
	}
	m, e := &script{}, &env{outputs: submitting("p")}
	end, err := newLoop(t, asking(ToolCall)).Run(t.Context(), Turn{Messages: history, Model: m, Env: e, Unfinished: unfinished()})
	if err != nil || end.Status != vocab.StatusInputRequired || end.Question != "Which?" || len(e.ran)+len(m.asked) > 0 {
		t.Errorf("got %+v, %v; ran %q, asked %v; want status %v and nothing run", end, err, e.ran, m.asked, vocab.StatusInputRequired)
	}
	m.replies = []*llm.Response{ask("4", submit)}
	end, err = newLoop(t, asking(ToolCall)).Run(t.Context(), Turn{Messages: history, Say: "This.", Model: m, Env: e, Unfinished: unfinished()})
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v", end, err, vocab.StatusSubmitted)
	}
	if saw := m.asked[0]; len(saw) != 6 || saw[4].ToolCallID() != "2" || saw[4].Text() != "This." || !strings.Contains(saw[5].Text(), "not executed") {
		t.Errorf("asked with %+v, want the answer as the call's result", saw)
	}
}

func TestAQuestionNeedsWords(t *testing.T) {
	for _, arguments := range []string{`{}`, `{"question":""}`, `{"question":" \n"}`, `{"question":1}`} {
		m := &script{replies: []*llm.Response{say("", llm.ToolCall{ID: "1", Name: "ask", Arguments: arguments}), ask("2", submit)}}
		end, err := newLoop(t, asking(ToolCall)).Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}})
		if err != nil || end.Status != vocab.StatusSubmitted || !strings.Contains(m.asked[1][1].Text(), "'question'") {
			t.Errorf("%s: got %+v, %v, asked %v; want a format error that names the argument", arguments, end, err, m.asked)
		}
	}
	m := &script{replies: []*llm.Response{say("", question("1", "Which?")), ask("2", submit)}}
	if end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}}); err != nil || end.Status != vocab.StatusSubmitted ||
		!strings.Contains(m.asked[1][1].Text(), "Unknown tool 'ask'") {
		t.Errorf("got %+v, %v, asked %v; want that the tool is unknown where it is not offered", end, err, m.asked)
	}
}

// failing fails calls with its errors in order, and then answers from the script.
type failing struct {
	*script
	errs []error
	took time.Duration
}

func (f *failing) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	if len(f.errs) == 0 {
		return f.script.Generate(ctx, req)
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	if err == nil {
		return f.script.Generate(ctx, req)
	}
	time.Sleep(f.took)
	return nil, err
}

func allowing(n int) func(*Config) { return func(c *Config) { c.ModelErrors = n } }

func TestTheModelIsShownThatACallFailed(t *testing.T) {
	broken := fault.New(fault.Transient, "giving up after 3 tries", fault.New(fault.Transient, "calling http://10.0.0.1", errors.New("503 Service Unavailable:\n"+strings.Repeat("x ", 1000))))
	m := &failing{script: &script{replies: []*llm.Response{ask("1", "ls"), ask("2", submit)}}, errs: []error{broken, broken, nil, broken, broken}}
	j := &journal{}
	end, err := newLoop(t, allowing(2)).Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}, Recorder: j})
	if err != nil || end.Status != vocab.StatusSubmitted || end.Calls != 2 {
		t.Fatalf("got %+v, %v; want status %v after 2 calls", end, err, vocab.StatusSubmitted)
	}
	if d := cmp.Diff([]string{"system", "user", "user", "user", "assistant", "tool", "user", "user", "assistant", "exit"}, roles(end.Messages)); d != "" {
		t.Errorf("roles of the messages (-want +got):\n%s", d)
	}
	shown := end.Messages[2].Text()
	if !strings.HasPrefix(shown, "The last call of the model failed: 503 Service Unavailable: x x x") || len(shown) > 450 || strings.Contains(shown, "10.0.0.1") {
		t.Errorf("the model is shown %q, want a short reason", shown)
	}
	var steps []int
	for _, e := range j.events {
		if e.Type == EventFailed {
			steps = append(steps, e.Step)
			if !errors.Is(e.Err, broken) {
				t.Errorf("recorded %v, want the error", e.Err)
			}
		}
	}
	if d := cmp.Diff([]int{1, 1, 2, 2}, steps); d != "" {
		t.Errorf("failed steps (-want +got):\n%s", d)
	}
	if got, want := strings.Join(j.types(), " "), "messages request failed interrupt messages request failed interrupt messages request reply"; !strings.HasPrefix(got, want) {
		t.Errorf("recorded %s, want %s first", got, want)
	}
}

func TestModelErrorsEndTheRunAtTheirLimit(t *testing.T) {
	broken := fault.Newf(fault.Transient, "503")
	for name, c := range map[string]struct {
		limit, calls int // calls made
		err          error
	}{
		"none by default":    {0, 1, broken},
		"one more":           {2, 3, broken},
		"the host's fault":   {2, 1, fault.Newf(fault.Host, "401")},
		"the caller's fault": {2, 1, fault.Newf(fault.Usage, "no such model")},
		"an unknown error":   {2, 1, errors.New("x")},
		"a cancellation":     {2, 1, context.Canceled},
	} {
		m := &failing{script: &script{err: c.err}, errs: slices.Repeat([]error{c.err}, 9)}
		end, err := newLoop(t, allowing(c.limit)).Run(t.Context(), Turn{Model: m, Env: &env{}})
		if calls := 9 - len(m.errs); !errors.Is(err, c.err) || calls != c.calls || len(end.Messages) != 2+c.calls {
			t.Errorf("%s: %v after %d calls with %d messages, want %v after %d with %d", name, err, calls, len(end.Messages), c.err, c.calls, 2+c.calls)
		}
	}
}

func TestModelErrorsBeforeAResumeCount(t *testing.T) {
	broken := fault.Newf(fault.Transient, "503")
	end, err := newLoop(t, allowing(2)).Run(t.Context(), Turn{Model: &failing{errs: []error{broken, broken, broken}}, Env: &env{}})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	m := &failing{script: &script{}, errs: []error{broken, broken}}
	history := end.Messages[:len(end.Messages)-1]
	if _, err := newLoop(t, allowing(2)).Run(t.Context(), Turn{Messages: history, Model: m, Env: &env{}}); !errors.Is(err, broken) || len(m.errs) != 1 {
		t.Errorf("%v, %d more errors; want %v from the first call", err, len(m.errs), broken)
	}
}

// The time of a call that failed is not the agent's: a run resumed from the journal does not
// count it either.
func TestFailedCallsTakeNoWorkingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &failing{script: &script{replies: []*llm.Response{ask("1", submit)}}, errs: []error{fault.Newf(fault.Transient, "503")}, took: time.Hour}
		loop := newLoop(t, func(c *Config) { c.ModelErrors, c.Limits.Time = 1, time.Minute })
		end, err := loop.Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}})
		if err != nil || end.Status != vocab.StatusSubmitted || end.ModelTime != time.Hour {
			t.Errorf("got %+v, %v; want status %v", end, err, vocab.StatusSubmitted)
		}
	})
}

func TestAToolsOwnErrorIsShownToTheModel(t *testing.T) {
	tool := func(err error) Tool {
		n := noteTool(nil)
		n.Execute = func(context.Context, Environment, Call) (vocab.Output, error) { return vocab.Output{}, err }
		return n
	}
	note := say("", llm.ToolCall{ID: "1", Name: "note", Arguments: `{"text":"a"}`})
	m := &script{replies: []*llm.Response{note, ask("2", submit)}}
	end, err := newLoop(t, withTools(BashTool(), tool(errors.New("no paper")))).Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}})
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v", end, err, vocab.StatusSubmitted)
	}
	if saw := m.asked[1][3]; !strings.Contains(saw.Text(), "Tool note error: no paper") || saw.ToolCallID() != "1" || saw.Extra["returncode"] != 1 {
		t.Errorf("the model saw %+v, want the tool's error", saw)
	}
	for _, failure := range []error{fault.Newf(fault.Host, "the disk is full"), context.Canceled, vocab.ErrDestroyed} {
		m := &script{replies: []*llm.Response{note}}
		end, err := newLoop(t, withTools(BashTool(), tool(failure))).Run(t.Context(), Turn{Model: m, Env: &env{}})
		if len(m.asked) != 1 || err == nil && end.Status != vocab.StatusEnvironmentDestroyed || err != nil && !errors.Is(err, failure) {
			t.Errorf("%v: got %+v, %v; want that it ends the run", failure, end, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := tool(nil)
	stopped.Execute = func(context.Context, Environment, Call) (vocab.Output, error) {
		cancel(nil)
		return vocab.Output{}, errors.New("the connection is closed")
	}
	if end, err := newLoop(t, withTools(BashTool(), stopped)).Run(ctx, Turn{Model: &script{replies: []*llm.Response{note}}, Env: &env{}}); err == nil {
		t.Errorf("got %+v after a cancellation, want an error", end)
	}
}

// An answer is nested some levels deep in records and trajectories, which limits its own depth.
func TestATooDeeplyNestedAnswerIsNotKept(t *testing.T) {
	deep := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	message := llm.Message{Parts: llm.Say("said")}
	for name, c := range map[string]struct {
		resp llm.Response
		want func(answer json.RawMessage) bool
	}{
		"as it came": {
			llm.Response{Raw: deep(9000)},
			func(answer json.RawMessage) bool { return len(answer) == 18000 },
		},
		"too deep": {
			llm.Response{Raw: deep(9999), Message: message},
			func(answer json.RawMessage) bool { return strings.Contains(string(answer), `"said"`) },
		},
		"its message too": {
			llm.Response{Raw: deep(9999), Message: llm.Message{Chat: json.RawMessage(`{"x":` + string(deep(9990)) + `}`)}},
			func(answer json.RawMessage) bool { return answer == nil },
		},
		"two texts": {
			llm.Response{Raw: json.RawMessage("1],[1"), Message: message},
			func(answer json.RawMessage) bool { return strings.Contains(string(answer), `"said"`) },
		},
	} {
		if answer := rawAnswer(&c.resp); !c.want(answer) {
			t.Errorf("%s: the kept answer %.100s is not the one wanted", name, answer)
		}
	}
}
