package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func TestARefusalByTheProviderEndsTheRunLikeALimit(t *testing.T) {
	for _, c := range []struct {
		cause  error
		status vocab.Status
	}{
		{llm.ErrContextLength, vocab.StatusContextWindowExceeded},
		{llm.ErrContentPolicy, vocab.StatusContentPolicyViolation},
	} {
		t.Run(string(c.status), func(t *testing.T) {
			broken := fault.New(fault.Instance, "asking", fmt.Errorf("%w: 400", c.cause)).WithHint("try less")
			m, j := &script{replies: []*llm.Response{ask("1", "ls")}, err: broken}, &journal{}
			end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: &env{}, Recorder: j})
			if err != nil || end.Status != c.status || end.Submitted || end.Calls != 1 || end.Cost != 1 || end.Reason != broken.Error() {
				t.Errorf("got %+v, %v; want status %v, submitted false, calls 1, cost 1, reason %v, no error",
					end, err, c.status, broken.Error())
			}
			last := end.Messages[len(end.Messages)-1]
			want := map[string]any{
				"exit_status": string(c.status), "submission": "", "exception_str": broken.Error(), "hint": "try less",
				"timestamp": last.Extra["timestamp"],
			}
			if d := cmp.Diff(want, last.Extra); d != "" || last.Role != llm.RoleExit {
				t.Errorf("got %s exit: %s; want no difference, role %v", last.Role, d, llm.RoleExit)
			}
			if got := strings.Join(j.types(), " "); !strings.HasSuffix(got, "request interrupt messages end") {
				t.Errorf("recorded %s, want ending in %q", got, "request interrupt messages end")
			}
		})
	}
}

func TestADestroyedEnvironmentEndsTheRun(t *testing.T) {
	gone := fmt.Errorf("%w: no bash", vocab.ErrDestroyed)
	e := &env{outputs: map[string]vocab.Output{"ls": printed("f\n")}, err: map[string]error{"rm -rf /": gone}}
	two := say("", call("1", `{"command":"ls"}`), call("2", `{"command":"rm -rf /"}`), call("3", `{"command":"ls"}`))
	end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{two}}, Env: e})
	if err != nil || end.Status != vocab.StatusEnvironmentDestroyed || end.Submitted || end.Calls != 1 || end.Cost != 1 || end.Reason != gone.Error() {
		t.Errorf("got %+v, %v; want status %v, submitted false, calls 1, cost 1, reason %v, no error",
			end, err, vocab.StatusEnvironmentDestroyed, gone.Error())
	}
	if d := cmp.Diff([]string{"ls", "rm -rf /"}, e.ran); d != "" {
		t.Errorf("commands run (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"system", "user", "assistant", "tool", "exit"}, roles(end.Messages)); d != "" {
		t.Errorf("roles of the messages (-want +got):\n%s", d)
	}
}

func TestAFilteredReplyEndsTheRunAndIsPaid(t *testing.T) {
	empty := say("")
	empty.FinishReason = "content_filter"
	m, j := &script{replies: []*llm.Response{ask("1", "ls"), empty}}, &journal{}
	end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: &env{}, Recorder: j})
	if err != nil || end.Status != vocab.StatusContentPolicyViolation || end.Calls != 2 || end.Cost != 2 {
		t.Fatalf("got %+v, %v; want status %v, calls 2, cost 2, no error", end, err, vocab.StatusContentPolicyViolation)
	}
	last := end.Messages[len(end.Messages)-1]
	if last.Extra["cost"] != 1.0 || last.Extra["response"] == nil || !strings.Contains(end.Reason, "content_filter") {
		t.Errorf("got %q, exit %+v; want cost 1.0, a response, %q in the reason", end.Reason, last, "content_filter")
	}
	if d := cmp.Diff([]string{"system", "user", "assistant", "tool", "exit"}, roles(end.Messages)); d != "" {
		t.Errorf("roles of the messages (-want +got):\n%s", d)
	}
	if got := strings.Join(j.types(), " "); !strings.HasSuffix(got, "request reply interrupt messages end") {
		t.Errorf("recorded %s, want ending in %q", got, "request reply interrupt messages end")
	}
	t.Run("also where it is known from before", func(t *testing.T) {
		end, err := newLoop(t, nil).Run(t.Context(), Turn{
			Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("t")}}, Unfinished: &Unfinished{Reply: empty}, Model: &script{}, Env: &env{},
		})
		if err != nil || end.Status != vocab.StatusContentPolicyViolation || end.Calls != 1 {
			t.Errorf("got %+v, %v; want status %v, calls 1, no error", end, err, vocab.StatusContentPolicyViolation)
		}
	})
	t.Run("its calls do not run", func(t *testing.T) {
		cut, e := ask("1", submit), &env{outputs: submitting("p")}
		cut.FinishReason = "content_filter"
		end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{cut}}, Env: e})
		if err != nil || end.Status != vocab.StatusContentPolicyViolation || len(e.ran) > 0 {
			t.Errorf("got %+v, %v, ran %q; want status %v, no error, nothing run", end, err, e.ran, vocab.StatusContentPolicyViolation)
		}
	})
}
