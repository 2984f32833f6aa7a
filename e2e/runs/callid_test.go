package runs

import (
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
)

// badIDs are the tool calls of each reply, as id and word to print. The last
// reply submits.
var badIDs = [][][2]string{
	{{"", "one"}, {"", "two"}},
	{{"same", "three"}, {"same", "four"}},
	{{"same", "five"}},
	{{"same", "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}},
}

// replyWithBadIDs is the n-th reply, as a server with wrong ids sends it.
func replyWithBadIDs(n int) stub.Answer {
	var calls []any
	for _, c := range badIDs[n] {
		calls = append(calls, map[string]any{
			"id": c[0], "type": "function",
			"function": map[string]any{"name": "bash", "arguments": `{"command":"echo ` + c[1] + `"}`},
		})
	}
	return stub.Answer{Message: map[string]any{"content": nil, "tool_calls": calls, "reasoning": "hm"}}
}

func TestToolCallsWithoutAUniqueIDGetOne(t *testing.T) {
	tier.Rest(t, "llm", "agent/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	for name, stops := range map[string]int64{"in one run": 0, "over a resume": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stopped atomic.Int64
			server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
				if r.Replies() == 2 && stopped.Add(1) <= stops {
					return stub.Refusal(401, "invalid_api_key", "not now")
				}
				return replyWithBadIDs(r.Replies())
			})
			dir := t.TempDir()
			for range stops {
				if out, code := e2e.RunOpenAI(t, dir, server.URL, "--slice", ":1"); code != e2e.ExitFailed {
					t.Fatalf("exit code %d, want %v\n%s", code, e2e.ExitFailed, out)
				}
			}
			out, code := e2e.RunOpenAI(t, dir, server.URL, "--slice", ":1")
			if code != e2e.ExitOK {
				t.Fatalf("exit code %d, want %v\n%s", code, e2e.ExitOK, out)
			}
			requests := server.Requests()
			if want := len(badIDs) + int(stops); len(requests) != want {
				t.Errorf("%d requests, want %d: no reply is asked for twice", len(requests), want)
			}
			checkAnswers(t, requests[len(requests)-1])
		})
	}
}

// checkAnswers checks that each call of a request has a unique id and is
// answered by the output of its command.
func checkAnswers(t *testing.T, r *stub.Request) {
	t.Helper()
	commands := map[string]string{} // by id
	answered := 0
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			if commands[c.ID] != "" || c.ID == "" {
				t.Errorf("the id %q is empty or used twice", c.ID)
			}
			commands[c.ID] = *c.Function.Arguments
			if !strings.Contains(string(m.Raw), `"reasoning":"hm"`) {
				t.Errorf("other fields that the provider sent are lost: %s", m.Raw)
			}
		}
		if m.Role != "tool" {
			continue
		}
		answered++
		word := strings.TrimSuffix(strings.TrimPrefix(commands[m.ToolCallID], `{"command":"echo `), `"}`)
		if word == "" || !strings.Contains(string(m.Content), word) {
			t.Errorf("%q was answered by %s; want some word, %q in the content", commands[m.ToolCallID], m.Content, word)
		}
	}
	if answered != 5 {
		t.Errorf("%d calls were answered, want 5", answered)
	}
}
