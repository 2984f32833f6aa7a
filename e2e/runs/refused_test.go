package runs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// workThen edits a file in each of the first three steps, then answers with last.
func workThen(last stub.Answer) func(int, *stub.Request) stub.Answer {
	return func(_ int, r *stub.Request) stub.Answer {
		if r.Replies() < 3 {
			return stub.Bash("echo more >> work.txt")
		}
		return last
	}
}

func TestAConversationThatTheProviderRefusesIsAResult(t *testing.T) {
	tier.Rest(t, "llm", "attempt/*.go", "runner")
	e2e.NeedDocker(t)
	t.Parallel()
	for _, c := range []struct {
		name    string
		answer  stub.Answer
		status  string
		outcome vocab.Outcome
		steps   int
		says    string // in the last message
	}{
		{
			"a conversation that is too long",
			stub.Refusal(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
			"ContextWindowExceeded", vocab.OutcomeLimit, 3, "8192 tokens",
		},
		{
			"a prompt that a filter refuses",
			stub.Refusal(400, "content_filter", "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."),
			"ContentPolicyViolation", vocab.OutcomeFailed, 3, "content management policy",
		},
		{
			"an answer that a filter took away",
			stub.Answer{Message: map[string]any{"content": nil}, FinishReason: "content_filter", Usage: vocab.Usage{Input: 9}},
			"ContentPolicyViolation", vocab.OutcomeFailed, 4, `"finish_reason": "content_filter"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := stub.NewServerFunc(t, workThen(c.answer))
			dir := t.TempDir()
			args := []string{"--slice", ":2", "-w", "2"}
			out, code := e2e.RunOpenAI(t, dir, server.URL, args...)
			if code != e2e.ExitOK || !strings.Contains(out, c.status) || !strings.Contains(out, "2 of 2 instances have a result") {
				t.Errorf("exit code %d, want %v, %q in the output, %q in the output\n%s",
					code, e2e.ExitOK, c.status, "2 of 2 instances have a result", out)
			}
			preds := e2e.Predictions(t, filepath.Join(dir, "out"))
			if len(preds) != 2 {
				t.Errorf("got %d predictions, want 2", len(preds))
			}
			for id, patch := range preds {
				if patch != "" {
					t.Errorf("%s: prediction %q, want no patch", id, patch)
				}
				salvaged, err := os.ReadFile(filepath.Join(dir, "out", id, id+".salvaged.patch"))
				if err != nil || strings.Count(string(salvaged), "+more\n") != 3 {
					t.Errorf("%s: salvaged %q, %v; want 3 times %q, no error", id, salvaged, err, "+more\n")
				}
			}
			statuses, err := os.ReadFile(filepath.Join(dir, "out", "exit_statuses.yaml"))
			if err != nil || !strings.Contains(string(statuses), "    "+c.status+":\n    - ") || strings.Count(string(statuses), ":\n") != 2 {
				t.Errorf("got %s, %v; want %q in it, 2 times %q, no error",
					statuses, err, "    "+c.status+":\n    - ", ":\n")
			}
			snap, err := results.Read(filepath.Join(dir, "out"))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range snap.Records {
				if r.Outcome != c.outcome || r.Blame != "" || r.Steps != c.steps || r.Error == "" {
					t.Errorf("record %+v, want outcome %v, no blame, steps %v, some error", r, c.outcome, c.steps)
				}
			}
			for id := range preds {
				var traj struct{ Messages []json.RawMessage }
				e2e.ReadJSON(t, filepath.Join(dir, "out", id, id+".traj.json"), &traj)
				if last := string(traj.Messages[len(traj.Messages)-1]); !strings.Contains(last, `"role": "exit"`) || !strings.Contains(last, c.says) {
					t.Errorf("%s: last message %s, want %q in the last message, %q in the last message",
						id, last, `"role": "exit"`, c.says)
				}
			}
			asked := len(server.Requests())
			if out, code := e2e.RunOpenAI(t, dir, server.URL, args...); code != e2e.ExitOK || len(server.Requests()) != asked {
				t.Errorf("a second run made %d requests, exit code %d; want none\n%s", len(server.Requests())-asked, code, out)
			}
		})
	}
}

func TestARequestThatFailsForOneInstanceDoesNotStopOthers(t *testing.T) {
	tier.Rest(t, "llm", "attempt/*.go", "runner")
	e2e.NeedDocker(t)
	t.Parallel()
	var bad atomic.Value // the task of the refused instance
	bad.Store("")
	server := stub.NewServerFunc(t, func(n int, r *stub.Request) stub.Answer {
		task := string(r.Messages[1].Content)
		if n == 3 { // the first of the second instance
			bad.Store(task)
		}
		if task == bad.Load() {
			return stub.Refusal(400, "invalid_value", "messages[1].content: no surrogates please")
		}
		return e2e.WorkAndSubmit(r)
	})
	dir := t.TempDir()
	out, code := e2e.RunOpenAI(t, dir, server.URL, "--slice", ":3", "-w", "1")
	if code != e2e.ExitIncomplete || !strings.Contains(out, "InstanceFault") || !strings.Contains(out, "2 of 3 instances have a result") {
		t.Errorf("exit code %d, want %v, %q in the output, %q in the output\n%s",
			code, e2e.ExitIncomplete, "InstanceFault", "2 of 3 instances have a result", out)
	}
	// The other two have proved that requests are valid. What remains is a fault of that instance.
	out, code = e2e.RunOpenAI(t, dir, server.URL, "--slice", ":3", "-w", "1")
	if code != e2e.ExitIncomplete || !strings.Contains(out, "InstanceFault") {
		t.Errorf("exit code %d, want %v, %q in the output\n%s", code, e2e.ExitIncomplete, "InstanceFault", out)
	}
}
