package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/internal/python"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

const submit = "echo done"

func submitting(patch string) map[string]vocab.Output {
	return map[string]vocab.Output{submit: printed(vocab.Marker + "\n" + patch)}
}

func newLoop(t testing.TB, change func(*Config)) *Loop {
	t.Helper()
	c := Config{SystemTemplate: "You help.\n", InstanceTemplate: "Solve {{ task }} in {{ cwd }}.\n"}
	if change != nil {
		change(&c)
	}
	l, err := NewLoop(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func roles(messages []llm.Message) (roles []string) {
	for _, m := range messages {
		roles = append(roles, m.Role)
	}
	return roles
}

func TestRun(t *testing.T) {
	t.Run("two steps end with the submission byte for byte", func(t *testing.T) {
		e := &env{outputs: submitting("diff\r\n\xff last")}
		e.outputs["ls"] = printed("a\n")
		m, j := &script{replies: []*llm.Response{ask("1", "ls"), ask("2", submit)}}, &journal{}
		end, err := newLoop(t, nil).Run(t.Context(), Turn{Task: "it", Model: m, Env: e, Recorder: j})
		if err != nil || end.Status != vocab.StatusSubmitted || !end.Submitted || string(end.Submission) != "diff\r\n\xff last" {
			t.Fatalf("status %q, submission %q, %v; want status %v, submitted true, submission %q, no error",
				end.Status, end.Submission, err, vocab.StatusSubmitted, "diff\r\n\xff last")
		}
		want := []string{"system", "user", "assistant", "tool", "assistant", "exit"}
		if d := cmp.Diff(want, roles(end.Messages)); d != "" {
			t.Errorf("roles of the messages (-want +got):\n%s", d)
		}
		if got := end.Messages[1].Text(); got != "Solve it in /testbed." {
			t.Errorf("task message %q, want %q", got, "Solve it in /testbed.")
		}
		if end.Calls != 2 || end.Cost != 2 || end.Usage.Input != 20 || end.ModelID != "scripted-1" {
			t.Errorf("counted %+v, want calls 2, cost 2, input 20, model ID %q", end, "scripted-1")
		}
		last := end.Messages[5].Extra
		if last["submission"] != "diff\r\n\uFFFD last" || last["submission_base64"] != "ZGlmZg0K/yBsYXN0" {
			t.Errorf("exit extra %v, want submission %q, submission_base64 %q", last, "diff\r\n\uFFFD last", "ZGlmZg0K/yBsYXN0")
		}
		wantEvents := strings.Fields("messages request reply messages action output messages request reply messages action output interrupt messages end")
		if d := cmp.Diff(wantEvents, j.types()); d != "" {
			t.Errorf("events (-want +got):\n%s", d)
		}
		if _, ok := end.Messages[3].Extra["timestamp"].(float64); !ok {
			t.Error("the observation has no timestamp")
		}
	})
	t.Run("an empty submission is a submission", func(t *testing.T) {
		end, err := newLoop(t, nil).Run(t.Context(), Turn{
			Model: &script{replies: []*llm.Response{ask("1", submit)}}, Env: &env{outputs: submitting("")},
		})
		if err != nil || !end.Submitted || end.Submission == nil || len(end.Submission) != 0 {
			t.Errorf("got %+v, %v; want submitted true, a submission, no submission, no error", end, err)
		}
	})
	t.Run("outputs before a submission are kept and actions behind it are not run", func(t *testing.T) {
		e := &env{outputs: submitting("p")}
		reply := say("", call("1", `{"command":"ls"}`), call("2", `{"command":"`+submit+`"}`), call("3", `{"command":"rm"}`))
		end, _ := newLoop(t, nil).Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{reply}}, Env: e})
		want := []string{"system", "user", "assistant", "tool", "exit"}
		if d := cmp.Diff(want, roles(end.Messages)); d != "" || len(e.ran) != 2 {
			t.Errorf("%s ran %v; want no difference, 2 commands run", d, e.ran)
		}
	})
	t.Run("a failed command does not submit", func(t *testing.T) {
		e := &env{outputs: map[string]vocab.Output{"x": {Bytes: []byte(vocab.Marker + "\n"), ExitCode: 1}}}
		end, _ := newLoop(t, func(c *Config) { c.Limits.Steps = 1 }).Run(t.Context(),
			Turn{Model: &script{replies: []*llm.Response{ask("1", "x")}}, Env: e})
		if end.Status != vocab.StatusLimitsExceeded || end.Submitted {
			t.Errorf("got %+v, want status %v, submitted false", end, vocab.StatusLimitsExceeded)
		}
	})
	t.Run("a submission that was cut short is refused and reported to the model", func(t *testing.T) {
		e := &env{outputs: map[string]vocab.Output{"big": {Bytes: []byte(vocab.Marker + "\nxx"), Total: 1 << 30}, submit: printed(vocab.Marker + "\nok")}}
		m := &script{replies: []*llm.Response{ask("1", "big"), ask("2", submit)}}
		end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: e})
		if err != nil || string(end.Submission) != "ok" {
			t.Fatalf("got %q, %v; want submission %q, no error", end.Submission, err, "ok")
		}
		if seen := end.Messages[3]; !strings.Contains(seen.Text(), "was not accepted") || seen.Extra["raw_output"] != (OutputRef{1, 1}) {
			t.Errorf("the model saw %+v, want %q in the text, raw_output %v", seen, "was not accepted", (OutputRef{1, 1}))
		}
	})
}

func TestLimits(t *testing.T) {
	endless := func(n int) *script {
		s := &script{}
		for i := range n {
			s.replies = append(s.replies, ask(fmt.Sprint(i), "ls"))
		}
		return s
	}
	for _, c := range []struct {
		name   string
		change func(*Config)
		turn   Turn
		status vocab.Status
		calls  int
	}{
		{"a step limit of one allows one call", func(c *Config) { c.Limits.Steps = 1 }, Turn{}, vocab.StatusLimitsExceeded, 1},
		{"a cost limit is met before the next call", func(c *Config) { c.Limits.Cost = 0.5 }, Turn{}, vocab.StatusLimitsExceeded, 1},
		{"calls made before count", func(c *Config) { c.Limits.Steps = 3 }, Turn{Calls: 3}, vocab.StatusLimitsExceeded, 3},
		{"cost spent before counts", func(c *Config) { c.Limits.Cost = 3 }, Turn{Cost: 2}, vocab.StatusLimitsExceeded, 1},
		{"time spent before counts", func(c *Config) { c.Limits.Time = time.Minute }, Turn{Elapsed: time.Hour}, vocab.StatusTimeExceeded, 0},
		{
			"limits that are changed while it works", func(c *Config) { c.Limits.Steps, c.Limits.Cost = 1, 1 },
			Turn{Hooks: Hooks{Limits: func(l vocab.Limits) vocab.Limits { return vocab.Limits{Steps: 2 * l.Steps, Cost: 5} }}},
			vocab.StatusLimitsExceeded, 2,
		},
		{"steps come before time", func(c *Config) { c.Limits.Steps, c.Limits.Time = 1, 1 }, Turn{Calls: 1, Elapsed: 5}, vocab.StatusLimitsExceeded, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.turn.Model, c.turn.Env = endless(9), &env{}
			end, err := newLoop(t, c.change).Run(t.Context(), c.turn)
			if err != nil || end.Status != c.status || end.Calls != c.calls || end.Submitted {
				t.Errorf("status %s after %d calls, %v; want status %v, calls %v, submitted false, no error",
					end.Status, end.Calls, err, c.status, c.calls)
			}
			if last := end.Messages[len(end.Messages)-1]; last.Extra["exit_status"] != string(c.status) || last.Extra["submission"] != "" {
				t.Errorf("exit message %+v, want exit_status %v, no submission", last, string(c.status))
			}
		})
	}
	t.Run("wall time stops while a call is held", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			held := func() error {
				time.Sleep(time.Hour)
				return nil
			}
			end, _ := newLoop(t, func(c *Config) { c.Limits.Steps, c.Limits.Time = 2, time.Second }).Run(t.Context(),
				Turn{Model: endless(9), Env: &env{}, Admit: held})
			if end.Status != vocab.StatusLimitsExceeded || end.Calls != 2 {
				t.Errorf("got %s after %d calls, want two calls", end.Status, end.Calls)
			}
		})
	})
	t.Run("wall time runs while commands do", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			end, _ := newLoop(t, func(c *Config) { c.Limits.Time = time.Second }).Run(t.Context(),
				Turn{Model: endless(9), Env: slow{2 * time.Second}})
			if end.Status != vocab.StatusTimeExceeded || end.Calls != 1 || end.CommandTime != 2*time.Second {
				t.Errorf("got %s after %d calls, commands %v; want status %v, calls 1, command time %v",
					end.Status, end.Calls, end.CommandTime, vocab.StatusTimeExceeded, 2*time.Second)
			}
		})
	})
}

// Time that a provider makes the agent wait does not count as the agent's, and is counted apart.
func TestWaitsForTheProviderDoNotCountAsAgentTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := func(id string) *llm.Response {
			r := ask(id, "ls")
			r.Waited, r.RateLimited = time.Hour, time.Hour/4
			return r
		}
		m := delayed{&script{replies: []*llm.Response{waiting("1"), waiting("2"), waiting("3")}}}
		end, err := newLoop(t, func(c *Config) { c.Limits.Time = 5 * time.Second }).Run(t.Context(),
			Turn{Model: m, Env: slow{2 * time.Second}, Elapsed: time.Second})
		if err != nil || end.Status != vocab.StatusTimeExceeded || end.Calls != 2 {
			t.Errorf("got %s after %d calls, %v; want status %v, calls 2, no error",
				end.Status, end.Calls, err, vocab.StatusTimeExceeded)
		}
		if end.RateWait != time.Hour/2 || end.Backoff != 3*time.Hour/2 || end.ModelTime != 2*time.Hour || end.CommandTime != 4*time.Second {
			t.Errorf("waited %v and %v of %v in calls, commands %v", end.RateWait, end.Backoff, end.ModelTime, end.CommandTime)
		}
	})
}

// retried makes the second try of each call after it was admitted, and reports that wait. The call
// takes a second more, and then fails if it has an error.
type retried struct {
	llm.Model
	err error
}

func (d retried) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	start := time.Now()
	if err := req.Trying(); err != nil {
		return nil, err
	}
	waited := time.Since(start)
	time.Sleep(time.Second)
	if d.err != nil {
		return nil, d.err
	}
	resp, err := d.Model.Generate(ctx, req)
	if err == nil {
		resp.Waited += waited
	}
	return resp, err
}

// The work may be paused before a further try of a call: that wait is in the answer already.
func TestAPauseBetweenTriesIsCountedOnce(t *testing.T) {
	admit := func() error {
		time.Sleep(time.Hour)
		return nil
	}
	for _, failed := range []error{nil, errScriptEnd} {
		synctest.Test(t, func(t *testing.T) {
			r := &run{loop: newLoop(t, func(*Config) {}), turn: Turn{Admit: admit}, started: time.Now()}
			r.turn.Model = retried{&script{replies: []*llm.Response{ask("1", "ls")}}, failed}
			resp, latency, err := r.generate(t.Context(), &llm.Request{Trying: r.admit})
			want := time.Second
			if !errors.Is(err, failed) || latency != time.Hour+time.Second {
				t.Fatalf("%v after %v", err, latency)
			}
			if err == nil {
				r.waitedFor(resp.Waited, resp.RateLimited)
			} else {
				want = 0 // a failed call is not the agent's time
			}
			if got := r.elapsed(); got != want {
				t.Errorf("with error %v, the agent worked for %v, want %v", failed, got, want)
			}
		})
	}
}

// Time that the environment makes it wait does not count either, and an environment
// that does not become ready ends the run before an action is recorded.
func TestAnActionWaitsForItsEnvironment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never, waits := errors.New("never"), 0
		ready := func(context.Context) error {
			time.Sleep(time.Hour)
			if waits++; waits == 3 {
				return never
			}
			return nil
		}
		end, err := newLoop(t, func(c *Config) { c.Limits.Time = 7 * time.Second }).Run(t.Context(),
			Turn{Model: &script{replies: []*llm.Response{ask("1", "ls"), ask("2", "ls"), ask("3", "ls")}}, Env: slow{2 * time.Second}, Hooks: Hooks{Ready: ready}})
		if !errors.Is(err, never) || end.Calls != 3 || end.CommandTime != 4*time.Second {
			t.Errorf("got %v after %d calls, commands %v; want error %v, calls 3, command time %v",
				err, end.Calls, end.CommandTime, never, 4*time.Second)
		}
	})
}

// delayed takes as long as its replies say that it waited.
type delayed struct{ llm.Model }

func (d delayed) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	resp, err := d.Model.Generate(ctx, req)
	if err == nil {
		time.Sleep(resp.Waited)
	}
	return resp, err
}

// Digests are compared with those in journals of other versions.
func TestTheDigestDoesNotChangeBetweenVersions(t *testing.T) {
	d := newDigest([]llm.Tool{{Name: "bash", Description: "run", Parameters: json.RawMessage("{}")}})
	d.add(llm.Message{Role: "user", Parts: llm.Say("é")})
	d.add(llm.Message{Role: "assistant", Parts: []llm.Part{llm.ToolCall{ID: "1", Name: "bash", Arguments: "{}"}}})
	d.add(llm.Message{Role: "tool", Parts: []llm.Part{llm.ToolResult{CallID: "1"}}, Chat: json.RawMessage("{}")})
	const want = "349beb4595b47de14a0819aa86b8323c08bfa8c857646f45f12be39a6b779db1"
	if got := d.String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The same request has the same digest in the journal of a resumed attempt.
func TestTheDigestIsTheSameAfterTheJournal(t *testing.T) {
	const plain = `"role":"assistant","content":"é <","tool_calls":[{"id":"1","type":"function","function":{"name":"bash","arguments":"{}"}}]`
	seen := map[string]string{}
	for _, own := range []string{
		`{` + plain + `}`, `{ "tool_calls":[], "content":"\u00e9 \u003c", "role":"assistant" }`, `{"refusal":null,` + plain + `}`,
		`{` + plain + `,"reasoning_content":"h\u006d"}`, `{` + plain + `,"reasoning_content":"ha","extra":{"x":1}}`,
	} {
		m, err := llm.AsWritten([]byte(own))
		if err != nil {
			t.Fatal(err)
		}
		m.Chat, m.Extra = json.RawMessage(own), map[string]any{"cost": 1}
		text, err := python.Compact(m)
		if err != nil {
			t.Fatal(err)
		}
		var again llm.Message
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		before, after := newDigest(nil), newDigest(nil)
		before.add(m)
		after.add(again)
		if before.String() != after.String() {
			t.Errorf("%s has another digest when it is read as %s", own, text)
		}
		if other, found := seen[before.String()]; found {
			t.Errorf("%s has the digest of %s", own, other)
		}
		seen[before.String()] = own
	}
}

type slow struct{ d time.Duration }

func (s slow) Execute(context.Context, string) (vocab.Output, error) {
	time.Sleep(s.d)
	return vocab.Output{}, nil
}
func (s slow) Vars() map[string]any { return map[string]any{"cwd": "/"} }

func TestFormatErrors(t *testing.T) {
	bad := func() *llm.Response { return say("no call") }
	t.Run("the model gets an error message, and the reply stays out of the conversation", func(t *testing.T) {
		m := &script{replies: []*llm.Response{bad(), ask("1", submit)}}
		end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}})
		if err != nil || end.Status != vocab.StatusSubmitted || end.Calls != 2 || end.Cost != 2 {
			t.Fatalf("got %+v, %v; want status %v, calls 2, cost 2, no error", end, err, vocab.StatusSubmitted)
		}
		want := []string{"system", "user", "user", "assistant", "exit"}
		if d := cmp.Diff(want, roles(end.Messages)); d != "" {
			t.Errorf("roles of the messages (-want +got):\n%s", d)
		}
		told := end.Messages[2]
		if !strings.Contains(told.Text(), "No tool calls found") || told.Extra["interrupt_type"] != string(vocab.StatusFormatError) ||
			told.Extra["cost"] != 1.0 || told.Extra["response"] == nil {
			t.Errorf("the model received %+v, want %q in the text, interrupt_type %v, cost 1.0, a response",
				told, "No tool calls found", string(vocab.StatusFormatError))
		}
	})
	t.Run("too many in a row end the run", func(t *testing.T) {
		end, err := newLoop(t, func(c *Config) { c.MaxFormatErrors = 2 }).Run(t.Context(),
			Turn{Model: &script{replies: []*llm.Response{bad(), bad(), bad()}}, Env: &env{}})
		if err != nil || end.Status != vocab.StatusRepeatedFormatError || end.Calls != 2 {
			t.Errorf("got %s after %d, %v; want status %v, calls 2, no error",
				end.Status, end.Calls, err, vocab.StatusRepeatedFormatError)
		}
	})
	t.Run("a good reply resets the count", func(t *testing.T) {
		m := &script{replies: []*llm.Response{bad(), ask("1", "ls"), bad(), ask("2", submit)}}
		end, err := newLoop(t, func(c *Config) { c.MaxFormatErrors = 2 }).Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("")}})
		if err != nil || end.Status != vocab.StatusSubmitted {
			t.Errorf("got %s, %v; want status %v, no error", end.Status, err, vocab.StatusSubmitted)
		}
	})
	t.Run("they are billed", func(t *testing.T) {
		m := &script{replies: []*llm.Response{bad(), ask("1", "ls"), bad(), bad()}}
		end, _ := newLoop(t, func(c *Config) { c.Limits.Cost = 2.5 }).Run(t.Context(), Turn{Model: m, Env: &env{}})
		if end.Status != vocab.StatusLimitsExceeded || end.Calls != 3 || end.Cost != 3 {
			t.Errorf("got %+v, want status %v, calls 3, cost 3", end, vocab.StatusLimitsExceeded)
		}
	})
}

func TestTimeout(t *testing.T) {
	e := &env{outputs: submitting("p")}
	e.outputs["sleep"] = vocab.Output{Bytes: []byte("999\n"), ExitCode: -1, TimedOut: true, Timeout: time.Second}
	first := say("", call("1", `{"command":"sleep"}`), call("2", `{"command":"ls"}`))
	m, j := &script{replies: []*llm.Response{first, ask("3", submit)}}, &journal{}
	end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: e, Recorder: j})
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v, no error", end, err, vocab.StatusSubmitted)
	}
	if d := cmp.Diff([]string{"sleep", submit}, e.ran); d != "" {
		t.Errorf("commands run (-want +got):\n%s", d)
	}
	late, skipped := end.Messages[3], end.Messages[4]
	if !strings.Contains(late.Text(), "timed out after 1 seconds") || !strings.Contains(late.Text(), "999\n") ||
		late.Extra["returncode"] != -1 || late.Extra["exception_type"] != "TimeoutExpired" || late.Extra["exception"] == "" || late.ToolCallID() != "1" {
		t.Errorf("the model saw %+v, want %q in the text, %q in the text, returncode -1, exception_type %q, some exception, tool call ID %q",
			late, "timed out after 1 seconds", "999\n", "TimeoutExpired", "1")
	}
	if !strings.Contains(skipped.Text(), "action was not executed") || skipped.ToolCallID() != "2" {
		t.Errorf("the model saw %+v, want %q in the text, tool call ID %q", skipped, "action was not executed", "2")
	}
	if !strings.Contains(strings.Join(j.types(), " "), "output interrupt messages request") {
		t.Errorf("events %v, want %q in the events", j.types(), "output interrupt messages request")
	}
}

// As in mini-swe-agent, only an output of a time-out has the member extra.
func TestATemplateShowsTheExtraOfATimeout(t *testing.T) {
	e := &env{outputs: submitting("p")}
	e.outputs["sleep"] = vocab.Output{ExitCode: -1, TimedOut: true, Timeout: time.Second}
	m := &script{replies: []*llm.Response{ask("1", "sleep"), ask("2", "ls"), ask("3", submit)}}
	end, err := newLoop(t, func(c *Config) {
		c.ObservationTemplate = "{{ output | list | join(' ') }}{% if output.extra is defined %}: {{ output.extra.exception_type }} {{ output.extra.exception[:21] }}{% endif %}"
	}).Run(t.Context(), Turn{Model: m, Env: e})
	if err != nil {
		t.Fatal(err)
	}
	const members = "output returncode exception_info"
	late, fine := end.Messages[3].Text(), end.Messages[5].Text()
	if late != members+" extra: TimeoutExpired The command timed out" || fine != members {
		t.Errorf("the template showed %q after a time-out, and %q after another command", late, fine)
	}
}

func TestAnObservationReportsAnOutOfMemoryKill(t *testing.T) {
	e := &env{outputs: submitting("p")}
	e.outputs["eat"] = vocab.Output{ExitCode: 137, OOM: true, Note: "A process was killed."}
	m := &script{replies: []*llm.Response{ask("1", "eat"), ask("2", "ls"), ask("3", submit)}}
	end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: e})
	if err != nil {
		t.Fatal(err)
	}
	killed, fine := end.Messages[3].Extra, end.Messages[5].Extra
	if _, told := fine["oom"]; killed["oom"] != true || killed["returncode"] != 137 || killed["exception_info"] != "A process was killed." || told {
		t.Errorf("the first observation's extra is %v, the second's %v", killed, fine)
	}
}

func TestFaults(t *testing.T) {
	broken := fault.Newf(fault.Transient, "asking: no answer").WithHint("wait")
	t.Run("a provider's fault ends the run with its status", func(t *testing.T) {
		end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: &script{err: broken}, Env: &env{}})
		last := end.Messages[len(end.Messages)-1]
		if !errors.Is(err, broken) || end.Status != "TransientFault" || end.Calls != 0 ||
			last.Role != llm.RoleExit || last.Extra["exception_str"] != "asking: no answer" || last.Extra["submission"] != "" {
			t.Errorf("got %+v, %v; want error %v, status %q, calls 0, role %v, exception_str %q, no submission",
				end, err, broken, "TransientFault", llm.RoleExit, "asking: no answer")
		}
	})
	t.Run("a container's fault keeps what ran before it", func(t *testing.T) {
		e := &env{err: map[string]error{"b": broken}}
		reply := say("", call("1", `{"command":"a"}`), call("2", `{"command":"b"}`))
		end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{reply}}, Env: e})
		if d := cmp.Diff([]string{"system", "user", "assistant", "tool", "exit"}, roles(end.Messages)); d != "" || err != error(broken) {
			t.Errorf("got %s %v; want no difference, error %v", d, err, error(broken))
		}
	})
	t.Run("cancellation is the user's and keeps its identity", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		j := &journal{}
		end, err := newLoop(t, nil).Run(ctx, Turn{Model: &script{}, Env: &env{}, Recorder: j})
		if !fault.Canceled(err) || end.Status != vocab.StatusUserInterruption || len(end.Messages) != 3 {
			t.Errorf("got %+v, %v; want a cancellation, status %v, 3 messages", end, err, vocab.StatusUserInterruption)
		}
		if got := strings.Join(j.types(), " "); got != "messages messages end" {
			t.Errorf("recorded %s, want no request", got)
		}
	})
	t.Run("a spent budget ends the run before the call", func(t *testing.T) {
		m, spent := &script{}, errors.New("budget spent")
		_, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: &env{}, Admit: func() error { return spent }})
		if !errors.Is(err, spent) || len(m.asked) != 0 {
			t.Errorf("got %v after %d calls; want error %v, no requests", err, len(m.asked), spent)
		}
	})
	t.Run("an undefined variable is named with its template", func(t *testing.T) {
		l := newLoop(t, func(c *Config) { c.InstanceTemplate = "one\n{{ tusk }}" })
		_, err := l.Run(t.Context(), Turn{Model: &script{}, Env: &env{}})
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "instance_template") ||
			!strings.Contains(err.Error(), `:2:4: unknown variable "tusk"`) ||
			!strings.HasPrefix(fault.HintOf(err), "did you mean task? correct this template of the configuration; ") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("an instance's fault not caused by the conversation is not a limit", func(t *testing.T) {
		refused := fault.Newf(fault.Instance, "asking: no such model")
		end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: &script{err: refused}, Env: &env{}})
		if !errors.Is(err, refused) || end.Status != "InstanceFault" || end.Reason != "" {
			t.Errorf("got %+v, %v; want error %v, status %q, no reason", end, err, refused, "InstanceFault")
		}
	})
	t.Run("an item that an output lacks is a fault of this instance", func(t *testing.T) {
		l := newLoop(t, func(config *Config) { config.ObservationTemplate = "{{ output.output.splitlines()[0] }}" })
		e := &env{outputs: map[string]vocab.Output{"one": printed("line\n")}}
		end, err := l.Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{ask("1", "one"), ask("2", "none")}}, Env: e})
		if fault.KindOf(err) != fault.Instance || end.Status != "InstanceFault" || len(e.ran) != 2 {
			t.Errorf("got %s, %v; ran %v; want an Instance fault after 2 commands", end.Status, err, e.ran)
		}
		want := "correct this template of the configuration; changing it needs --accept-changes=model.observation_template, and starts unfinished instances from the beginning"
		if hint := end.Messages[len(end.Messages)-1].Extra["hint"]; hint != want || fault.HintOf(err) != want {
			t.Errorf("hints %q and %q, want %q", hint, fault.HintOf(err), want)
		}
	})
	for name, c := range map[string]struct {
		template string
		ran      int
	}{
		"of an output":                   {"{% if output.returncode == 7 %}{{ nope }}{% endif %}", 2},
		"of an action that was left out": {"{% if output.exception_info == 'action was not executed' %}{{ nope }}{% endif %}", 3},
	} {
		t.Run("an undefined variable "+name+" ends the run", func(t *testing.T) {
			l := newLoop(t, func(config *Config) { config.ObservationTemplate = c.template })
			e := &env{outputs: map[string]vocab.Output{"seven": {ExitCode: 7}, "late": {TimedOut: true, Timeout: time.Second}}}
			reply := say("", call("1", `{"command":"ls"}`), call("2", `{"command":"seven"}`), call("3", `{"command":"late"}`), call("4", `{"command":"ls"}`))
			end, err := l.Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{reply, ask("5", submit)}}, Env: e})
			if fault.KindOf(err) != fault.Usage || end.Status != "UsageFault" || !strings.Contains(err.Error(), "observation_template") || len(e.ran) != c.ran {
				t.Errorf("got %s, %v; ran %v; want a Usage fault, status %q, with %q, %v commands run",
					end.Status, err, e.ran, "UsageFault", "observation_template", c.ran)
			}
		})
	}
	for _, at := range []EventType{EventMessages, EventRequest, EventReply, EventAction, EventOutput, EventInterrupt} {
		t.Run("a journal that fails at "+string(at)+" stops before the next act", func(t *testing.T) {
			full := fault.Newf(fault.Host, "disk full")
			m, e := &script{replies: []*llm.Response{ask("1", submit), ask("2", submit)}}, &env{outputs: submitting("p")}
			end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: e, Recorder: &journal{failAt: at, err: full}})
			if !errors.Is(err, full) || end.Status != "HostFault" || len(m.asked) > 1 || len(e.ran) > 1 {
				t.Errorf("got %s, %v; asked %d, ran %d; want error %v, status %q, requests at most 1, commands run at most 1",
					end.Status, err, len(m.asked), len(e.ran), full, "HostFault")
			}
			if at == EventAction && len(e.ran) != 0 || at == EventRequest && len(m.asked) != 0 {
				t.Error("the act was done although its record failed")
			}
		})
	}
}

func TestResumedConversation(t *testing.T) {
	t.Run("calls without an answer are answered before the next request", func(t *testing.T) {
		history := []llm.Message{
			{Role: llm.RoleSystem, Parts: llm.Say("s")},
			{Role: llm.RoleUser, Parts: llm.Say("t")},
			{Role: llm.RoleAssistant, Parts: []llm.Part{call("1", `{}`), call("2", `{}`)}},
			{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: "1"}}},
			{Role: llm.RoleExit, Extra: map[string]any{"exit_status": string(vocab.StatusUserInterruption)}},
		}
		m := &script{replies: []*llm.Response{ask("3", submit)}}
		end, err := newLoop(t, nil).Run(t.Context(), Turn{Messages: history, Model: m, Env: &env{outputs: submitting("p")}})
		if err != nil || end.Status != vocab.StatusSubmitted {
			t.Fatal(err)
		}
		want := []string{"system", "user", "assistant", "tool", "tool"}
		if d := cmp.Diff(want, roles(m.asked[0])); d != "" {
			t.Errorf("roles of the messages (-want +got):\n%s", d)
		}
		if got := m.asked[0][4]; got.ToolCallID() != "2" || !strings.Contains(got.Text(), "not executed") {
			t.Errorf("answered %+v, want tool call ID %q, %q in the text", got, "2", "not executed")
		}
	})
	t.Run("what a person said last needs no answer but the model's", func(t *testing.T) {
		m := &script{replies: []*llm.Response{fence(submit)}}
		l := newLoop(t, func(c *Config) { c.Actions.Kind = Text })
		if _, err := l.Run(t.Context(), Turn{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("t")}}, Model: m, Env: &env{outputs: submitting("p")}}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"user"}, roles(m.asked[0])); d != "" {
			t.Errorf("roles of the messages (-want +got):\n%s", d)
		}
	})
	t.Run("an answer to an older call of the same id is none", func(t *testing.T) {
		asking := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call("1", `{}`)}}
		history := []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("t")}, asking, {Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: "1"}}}, asking}
		m := &script{replies: []*llm.Response{ask("2", submit)}}
		if _, err := newLoop(t, nil).Run(t.Context(), Turn{Messages: history, Model: m, Env: &env{outputs: submitting("p")}}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"user", "assistant", "tool", "assistant", "tool"}, roles(m.asked[0])); d != "" {
			t.Errorf("roles of the messages (-want +got):\n%s", d)
		}
	})
	t.Run("the digest of a request depends on nothing but the conversation", func(t *testing.T) {
		first, second := &journal{}, &journal{}
		l := newLoop(t, func(c *Config) { c.Limits.Steps = 2 })
		end, _ := l.Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{ask("1", "ls"), ask("2", "ls")}}, Env: &env{}, Recorder: first})
		_, _ = l.Run(t.Context(), Turn{
			Messages: end.Messages[:4], Calls: 1,
			Model: &script{replies: []*llm.Response{ask("2", "ls")}}, Env: &env{}, Recorder: second,
		})
		if a, b := digests(first)[1], digests(second)[0]; a != b || a == digests(first)[0] {
			t.Errorf("digests %s and %s; want %v, other than %v", a, b, b, digests(first)[0])
		}
	})
}

func digests(j *journal) (d []string) {
	for _, e := range j.events {
		if e.Type == EventRequest {
			d = append(d, e.Digest)
		}
	}
	return d
}

func BenchmarkStep(b *testing.B) {
	l := newLoop(b, func(c *Config) { c.ObservationTemplate = longObservation })
	m := &script{}
	for range b.N {
		m.replies = append(m.replies, ask("1", "ls -la"))
	}
	e := &env{outputs: map[string]vocab.Output{"ls -la": printed(strings.Repeat("a line of output\n", 60))}}
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := l.Run(b.Context(), Turn{Task: "t", Model: forgetful{m}, Env: e}); !errors.Is(err, errScriptEnd) {
		b.Fatal(err)
	}
}

type forgetful struct{ s *script }

func (f forgetful) Generate(ctx context.Context, r *llm.Request) (*llm.Response, error) {
	return f.s.Generate(ctx, &llm.Request{Tools: r.Tools})
}
