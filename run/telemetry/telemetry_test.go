package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"batch.example/batch/agent"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
	"batch.example/batch/results"
	"batch.example/batch/run/telemetry"
	"batch.example/batch/run/telemetry/otlptest"
	"batch.example/batch/vocab"
)

const secret = "sk-verysecretkey0123456789"

// answers is a model that gives its answers in order: a *llm.Response or an error.
type answers []any

func (*answers) RetryPolicy() llm.RetryPolicy { return policy }

func (a *answers) Generate(context.Context, *llm.Request) (*llm.Response, error) {
	next := (*a)[0]
	*a = (*a)[1:]
	if err, failed := next.(error); failed {
		return nil, err
	}
	return next.(*llm.Response), nil
}

func reply(parts ...llm.Part) *llm.Response {
	return &llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, FinishReason: "tool_calls", Model: "m-1-2026", Cost: 0.25, Priced: true,
		Usage: vocab.Usage{Input: 1000, Cached: 800, CacheWrite: 100, Output: 50, Reasoning: 20},
	}
}

func bash(id, command string) *llm.Response {
	return reply(llm.Text{Text: "I use " + secret}, llm.ToolCall{ID: id, Name: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)})
}

// commands is an environment with an output for each command.
type commands map[string]vocab.Output

func (c commands) Execute(_ context.Context, command string) (vocab.Output, error) {
	out, ok := c[command]
	if !ok {
		return out, fault.New(fault.Transient, "running a command", errors.New("the engine is gone"))
	}
	out.Total = int64(len(out.Bytes))
	return out, nil
}

func (commands) Vars() map[string]any { return nil }

var box = commands{
	"ls":     {Bytes: []byte("a b\n" + secret)},
	"false":  {ExitCode: 1},
	"sleep":  {TimedOut: true, ExitCode: -1, Timeout: time.Second},
	"submit": {Bytes: []byte(vocab.Marker + "\npatch\n")},
}

var (
	slow   = fault.New(fault.Transient, "asking", &llm.RateLimited{Err: errors.New("slow down, " + secret)})
	down   = fault.New(fault.Transient, "asking", errors.New("connection reset"))
	policy = llm.RetryPolicy{Tries: 4, Base: time.Millisecond}
)

// sent has everything that an attempt sends to a collector.
type sent struct {
	t    *testing.T
	tel  *telemetry.Telemetry
	hide *mask.Masker
	log  bytes.Buffer
	loop *agent.Loop
}

// start starts telemetry to an address, with more settings as NAME=VALUE.
func start(t *testing.T, url string, more ...string) *sent {
	t.Helper()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url}
	for _, setting := range more {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
		env[name] = value
	}
	settings, err := telemetry.FromEnv(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	s := &sent{t: t, hide: mask.New(mask.Secret{Name: "KEY", Value: secret})}
	s.tel, err = settings.Start(t.Context(), telemetry.About{
		Model: "m-1", Service: "gemini", Version: "1.2.3", Mask: s.hide,
		Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.loop, err = agent.NewLoop(agent.Config{
		SystemTemplate: "You are a shell.", InstanceTemplate: "{{task}}", ObservationTemplate: "{{output.output}}", FormatErrorTemplate: "{{error}}", Limits: vocab.Limits{Steps: 20},
		Actions: agent.ActionForm{Kind: agent.ToolCall},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// attempt runs the agent and ends the attempt with a record.
func (s *sent) attempt(turn agent.Turn, record results.Record, list ...any) {
	s.t.Helper()
	a := answers(list)
	l := s.tel.Listen(dataset.Instance{ID: "org__repo-1", Repo: "org/repo"}, 1)
	turn.Task, turn.Env, turn.Listen = "Find "+secret, box, []agent.Listener{l.Event}
	turn.Model = llm.Calls{}.Compose(&a)
	end, err := s.loop.Run(s.t.Context(), turn)
	record.InstanceID, record.Attempt, record.Steps, record.Cost, record.Usage = "org__repo-1", 1, end.Calls, end.Cost, end.Usage
	record.Status, record.Error = end.Status, end.Reason
	if err != nil {
		record.Error = err.Error()
	}
	l.End(record)
}

// varying lists attributes with values that depend on the time.
var varying = []string{"batch.retry.wait", "batch.rate_limit.wait"}

func TestAnAttemptIsATreeOfSpans(t *testing.T) {
	c := otlptest.New(t, nil)
	s := start(t, c.URL, "OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=team=evals", "OTEL_EXPORTER_OTLP_HEADERS=x-key=abc")
	s.attempt(agent.Turn{}, results.Record{Outcome: vocab.OutcomeSubmitted, PatchBytes: 6, ModelID: "m-1-2026"},
		slow, down, bash("1", "ls"), bash("2", "false"), reply(llm.Text{Text: "no call"}), bash("3", "sleep"), bash("4", "submit"))
	s.tel.Close()
	const call = "gen_ai.operation.name=chat gen_ai.provider.name=gcp.gemini gen_ai.request.model=m-1 gen_ai.response.finish_reasons=[tool_calls] " +
		"gen_ai.response.model=m-1-2026 gen_ai.usage.cache_creation.input_tokens=100 gen_ai.usage.cache_read.input_tokens=800 " +
		"gen_ai.usage.input_tokens=1000 gen_ai.usage.output_tokens=50 gen_ai.usage.reasoning.output_tokens=20"
	want := `invoke_agent batch (internal) batch.attempt=1 batch.cost=1.25 batch.exit_status=Submitted batch.instance.id=org__repo-1 batch.instance.repo=org/repo batch.outcome=submitted batch.patch.bytes=6 batch.resumed=0 batch.steps=5 gen_ai.agent.name=batch gen_ai.agent.version=1.2.3 gen_ai.operation.name=invoke_agent gen_ai.provider.name=gcp.gemini gen_ai.request.model=m-1 gen_ai.response.model=m-1-2026 gen_ai.usage.cache_creation.input_tokens=500 gen_ai.usage.cache_read.input_tokens=4000 gen_ai.usage.input_tokens=5000 gen_ai.usage.output_tokens=250 gen_ai.usage.reasoning.output_tokens=100
  * batch.interrupt batch.exit_status=FormatError batch.step=3
  * batch.interrupt batch.exit_status=ExecutionTimeout batch.step=4
  * batch.interrupt batch.exit_status=Submitted batch.step=5
  chat m-1 (client) batch.cost=0.25 batch.retry.count=2 batch.step=1 ` + call + `
    * batch.retry batch.retry.rate_limited=true batch.retry.reason=slow down, ******** batch.retry.tries=4 batch.retry.try=2
    * batch.retry batch.retry.rate_limited=false batch.retry.reason=connection reset batch.retry.tries=4 batch.retry.try=3
  execute_tool bash (internal) batch.action=1 batch.output.bytes=30 batch.step=1 batch.timed_out=false gen_ai.operation.name=execute_tool gen_ai.tool.call.id=1 gen_ai.tool.name=bash gen_ai.tool.type=function process.exit.code=0
  chat m-1 (client) batch.cost=0.25 batch.step=2 ` + call + `
  execute_tool bash (internal) batch.action=1 batch.output.bytes=0 batch.step=2 batch.timed_out=false gen_ai.operation.name=execute_tool gen_ai.tool.call.id=2 gen_ai.tool.name=bash gen_ai.tool.type=function process.exit.code=1
  chat m-1 (client) batch.cost=0.25 batch.step=3 ` + call + `
  chat m-1 (client) batch.cost=0.25 batch.step=4 ` + call + `
  execute_tool bash (internal) error "" batch.action=1 batch.output.bytes=0 batch.step=4 batch.timed_out=true error.type=timeout gen_ai.operation.name=execute_tool gen_ai.tool.call.id=3 gen_ai.tool.name=bash gen_ai.tool.type=function process.exit.code=-1
  chat m-1 (client) batch.cost=0.25 batch.step=5 ` + call + `
  execute_tool bash (internal) batch.action=1 batch.output.bytes=44 batch.step=5 batch.timed_out=false gen_ai.operation.name=execute_tool gen_ai.tool.call.id=4 gen_ai.tool.name=bash gen_ai.tool.type=function process.exit.code=0
`
	if d := cmp.Diff(want, otlptest.Tree(c.Spans(), varying...)); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
	if r := c.Resource(); r["service.name"] != "mine" || r["service.version"] != "1.2.3" || r["team"] != "evals" || c.Header("x-key") != "abc" {
		t.Errorf("got resource %v, header %q; want what the environment says", r, c.Header("x-key"))
	}
	for _, text := range []string{secret, "I use", "sleep", vocab.Marker} {
		if bytes.Contains(c.Raw(), []byte(text)) {
			t.Errorf("%q was sent", text)
		}
	}
	if strings.Contains(s.log.String(), "WARN") {
		t.Errorf("the log has a warning:\n%s", &s.log)
	}
}

func TestCallsAndAttemptsAreMeasured(t *testing.T) {
	c := otlptest.New(t, nil)
	s := start(t, c.URL)
	s.attempt(agent.Turn{}, results.Record{Outcome: vocab.OutcomeSubmitted}, bash("1", "ls"), bash("2", "submit"))
	s.attempt(agent.Turn{}, results.Record{Outcome: vocab.OutcomeInfrastructure, Blame: "transient"}, down, down, down, down)
	s.tel.Close()
	var got []string
	for _, m := range c.Metrics() {
		for _, p := range m.GetHistogram().GetDataPoints() {
			a, sum := otlptest.Attributes(p.Attributes), fmt.Sprint(p.GetSum())
			if m.Unit == "s" {
				sum = "?"
			}
			got = append(got, fmt.Sprintf("%s %s %s %s %s: %d, sum %s %s, %d bounds", m.Name, a["gen_ai.token.type"], a["gen_ai.provider.name"], a["gen_ai.response.model"], a["error.type"], p.Count, sum, m.Unit, len(p.ExplicitBounds)))
		}
		for _, p := range m.GetSum().GetDataPoints() {
			a := otlptest.Attributes(p.Attributes)
			got = append(got, fmt.Sprintf("%s %s %s: %v", m.Name, a["batch.outcome"], a["gen_ai.response.model"], number(p)))
		}
	}
	want := []string{
		"gen_ai.client.token.usage input gcp.gemini m-1-2026 : 2, sum 2000 {token}, 14 bounds",
		"gen_ai.client.token.usage output gcp.gemini m-1-2026 : 2, sum 100 {token}, 14 bounds",
		"gen_ai.client.operation.duration  gcp.gemini m-1-2026 : 2, sum ? s, 14 bounds",
		"gen_ai.client.operation.duration  gcp.gemini  transient: 1, sum ? s, 14 bounds",
		"batch.attempts submitted : 1",
		"batch.attempts infrastructure : 1",
		"batch.cost  m-1-2026: 0.5",
	}
	if d := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); d != "" {
		t.Errorf("metrics (-want +got):\n%s", d)
	}
}

func number(p *metrics.NumberDataPoint) any {
	if v, ok := p.Value.(*metrics.NumberDataPoint_AsInt); ok {
		return v.AsInt
	}
	return p.GetAsDouble()
}

func TestACallOrAnActionThatFailsEndsWithTheFault(t *testing.T) {
	for name, c := range map[string]struct {
		answers []any
		blame   string
		want    []string
	}{
		"a call": {
			[]any{fault.New(fault.Host, "asking", errors.New("wrong key "+secret))},
			"host",
			[]string{`invoke_agent batch (internal) error "asking: wrong key ********"`, `chat m-1 (client) error "asking: wrong key ********"`, "error.type=host"},
		},
		"an action": {
			[]any{bash("1", "unknown")},
			"transient",
			[]string{`execute_tool bash (internal) error "running a command: the engine is gone"`, "error.type=transient"},
		},
		"a call, with an error that is not UTF-8": {
			[]any{fault.New(fault.Host, "asking", errors.New("Acc\xe8s refus\xe9"))},
			"host",
			[]string{`invoke_agent batch (internal) error "asking: Acc�s refus�"`},
		},
		"a conversation that is too long": {
			[]any{fault.New(fault.Instance, "asking", llm.ErrContextLength)},
			"",
			[]string{`chat m-1 (client) error ""`, "error.type=ContextWindowExceeded", "* batch.interrupt batch.exit_status=ContextWindowExceeded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			col := otlptest.New(t, nil)
			s := start(t, col.URL)
			s.attempt(agent.Turn{}, results.Record{Blame: c.blame}, c.answers...)
			s.tel.Close()
			tree := otlptest.Tree(col.Spans())
			for _, want := range c.want {
				if !strings.Contains(tree, want) {
					t.Errorf("no %q in\n%s", want, tree)
				}
			}
			if bytes.Contains(col.Raw(), []byte(secret)) {
				t.Error("the secret was sent")
			}
		})
	}
}

// A refused call is a call of its own, and ends.
func TestAConversationThatIsShortenedShowsWhatItTook(t *testing.T) {
	c := otlptest.New(t, nil)
	s := start(t, c.URL, telemetry.CaptureVariable+"=true")
	rewrite := func(_ context.Context, c agent.Conversation) (*agent.Rewriting, error) {
		if !c.Refused {
			return nil, nil
		}
		m := llm.Message{Role: llm.RoleUser, Parts: llm.Say("In short, " + secret)}
		return &agent.Rewriting{Policy: "drop", Edits: []agent.Edit{{From: 2, To: len(c.Messages), Messages: []llm.Message{m}}}}, nil
	}
	s.attempt(agent.Turn{Hooks: agent.Hooks{Rewrite: rewrite}}, results.Record{Outcome: vocab.OutcomeSubmitted},
		bash("1", "ls"), fault.New(fault.Instance, "asking", llm.ErrContextLength), bash("2", "submit"))
	s.tel.Close()
	tree := otlptest.Tree(c.Spans())
	for want, times := range map[string]int{
		"\n  chat m-1 (client) ": 3, "error.type=ContextWindowExceeded": 1, "batch.probe": 0, "batch.step=2": 5, "messages=null": 0, "batch.cost=0.25": 2,
		"* batch.rewrite batch.rewrite.policy=drop batch.rewrite.refused=true": 1, "batch.steps=2 ": 1,
		`gen_ai.input.messages=[{"role":"user","parts":[{"type":"text","content":"In short, ********"}]}]`: 1,
	} {
		if n := strings.Count(tree, want); n != times {
			t.Errorf("%q stands there %d times, want %d:\n%s", want, n, times, tree)
		}
	}
}

// So is the call that shows whether a shorter conversation is accepted.
func TestAProbeIsACallOfItsOwn(t *testing.T) {
	c := otlptest.New(t, nil)
	s := start(t, c.URL)
	no := &llm.Unpaid{Err: fault.New(fault.Instance, "asking", &llm.Unclear{Err: errors.New("422: no")})}
	s.attempt(agent.Turn{ModelFacts: agent.ModelFacts{Window: 1100}}, results.Record{Outcome: vocab.OutcomeLimit},
		bash("1", "ls"), bash("2", "ls"), bash("3", "ls"), no, reply(llm.Text{Text: "yes"}))
	s.tel.Close()
	tree := otlptest.Tree(c.Spans())
	for want, times := range map[string]int{"\n  chat m-1 (client) ": 5, "error.type=ContextWindowExceeded": 1, "batch.probe=true": 1} {
		if n := strings.Count(tree, want); n != times {
			t.Errorf("%q stands there %d times, want %d:\n%s", want, n, times, tree)
		}
	}
}

func TestAResumedAttemptSendsOnlyWhatItDoesItself(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	c := otlptest.New(t, nil)
	s := start(t, c.URL, "TRACEPARENT=00-"+id+"-b7ad6b7169203331-01")
	s.attempt(agent.Turn{
		Messages:   []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}, {Role: llm.RoleUser, Parts: llm.Say("t")}},
		Unfinished: &agent.Unfinished{Reply: bash("1", "ls")},
	}, results.Record{Outcome: vocab.OutcomeSubmitted, Resumed: 1}, bash("2", "submit"))
	s.tel.Close()
	var names []string
	for _, span := range c.Spans() {
		names = append(names, span.Name)
		if got := fmt.Sprintf("%x", span.TraceId); got != id {
			t.Errorf("span %s is part of trace %s, want %s", span.Name, got, id)
		}
	}
	if d := cmp.Diff([]string{"execute_tool bash", "chat m-1", "execute_tool bash", "invoke_agent batch"}, names); d != "" {
		t.Errorf("spans in the order of their ends (-want +got):\n%s", d)
	}
	if tree := otlptest.Tree(c.Spans()); !strings.Contains(tree, "batch.resumed=1") || !strings.Contains(tree, "batch.steps=2") {
		t.Errorf("the attempt does not say that it was resumed and took 2 steps:\n%s", tree)
	}
}

func TestContentIsSentOnlyWhenAskedForAndWithoutSecrets(t *testing.T) {
	c := otlptest.New(t, nil)
	s := start(t, c.URL, telemetry.CaptureVariable+"=true")
	s.attempt(agent.Turn{}, results.Record{Outcome: vocab.OutcomeSubmitted}, bash("1", "ls"), bash("2", "submit"))
	s.tel.Close()
	tree := otlptest.Tree(c.Spans())
	for _, want := range []string{
		`gen_ai.input.messages=[{"role":"system","parts":[{"type":"text","content":"You are a shell."}]},{"role":"user","parts":[{"type":"text","content":"Find ********"}]}]`,
		`gen_ai.input.messages=[{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":"a b\n********"}]}]`,
		`gen_ai.output.messages=[{"role":"assistant","parts":[{"type":"text","content":"I use ********"},{"type":"tool_call","id":"1","name":"bash","arguments":"{\"command\":\"ls\"}"}],"finish_reason":"tool_calls"}]`,
		`gen_ai.tool.call.arguments={"command":"ls"}`,
		"gen_ai.tool.call.result=a b\n********",
	} {
		if !strings.Contains(tree, want) {
			t.Errorf("no %s in\n%s", want, tree)
		}
	}
	if bytes.Contains(c.Raw(), []byte(secret)) {
		t.Error("the secret was sent")
	}
}

func TestLongTextsAreCut(t *testing.T) {
	c := otlptest.New(t, nil)
	s := start(t, c.URL, telemetry.CaptureVariable+"=true")
	long := reply(llm.Text{Text: strings.Repeat("x", 1<<20)}, llm.ToolCall{ID: "1", Name: "bash", Arguments: `{"command":"submit"}`})
	s.attempt(agent.Turn{}, results.Record{Outcome: vocab.OutcomeSubmitted}, long)
	s.tel.Close()
	if n := len(c.Raw()); n < 8<<10 || n > 32<<10 {
		t.Errorf("%d bytes were sent of a reply of a mebibyte, want the first 8 KiB of it", n)
	}
}

// Hiding secrets shortens a text, so its end is sent.
func TestALongTextHasNoPartOfASecret(t *testing.T) {
	key := "sk-" + strings.Repeat("0123456789abcdef", 16)
	c := otlptest.New(t, nil)
	s := start(t, c.URL, telemetry.CaptureVariable+"=true")
	s.hide.Add(mask.Secret{Name: "LONG", Value: key})
	long := reply(llm.Text{Text: strings.Repeat(key, 1000)}, llm.ToolCall{ID: "1", Name: "bash", Arguments: `{"command":"submit"}`})
	s.attempt(agent.Turn{}, results.Record{Outcome: vocab.OutcomeSubmitted}, long)
	s.tel.Close()
	if bytes.Contains(c.Raw(), []byte(key[:8])) {
		t.Error("a part of the secret was sent")
	}
}

// A broken collector does not affect an attempt, and adds one line to the log.
func TestACollectorThatDoesNotWorkIsOneLineInTheLog(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	answer := func(status int) string {
		return otlptest.New(t, func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "no", status)
			return true
		}).URL
	}
	gone := make(chan struct{})
	silent := otlptest.New(t, func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-r.Context().Done():
		case <-gone:
		}
		return true
	}).URL
	t.Cleanup(func() { close(gone) }) // before the server is closed, which waits
	for name, url := range map[string]string{"dead": dead, "status 500": answer(500), "status 503": answer(503), "silent": silent} {
		t.Run(name, func(t *testing.T) {
			s := start(t, url, "OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=1", "OTEL_BSP_MAX_QUEUE_SIZE=2", "OTEL_METRIC_EXPORT_INTERVAL=1")
			for range 20 {
				s.attempt(agent.Turn{}, results.Record{Outcome: vocab.OutcomeSubmitted}, bash("1", "submit"))
			}
			s.tel.Close()
			if n := strings.Count(s.log.String(), "level=WARN"); n != 1 {
				t.Errorf("%d warnings, want one:\n%s", n, &s.log)
			}
			for deadline := time.Now().Add(2 * time.Minute); sdkGoroutines() > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) { // the SDK does not wait for goroutines that watch a done context
					t.Fatalf("%d goroutines of the SDK are left", sdkGoroutines())
				}
			}
			s.tel.Close() // does nothing
		})
	}
}

// sdkGoroutines counts the goroutines that run code of OpenTelemetry.
func sdkGoroutines() int {
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
	n := 0
	for stack := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(stack, "go.opentelemetry.io/") {
			n++
		}
	}
	return n
}

func TestTelemetryThatIsOffListensToNothing(t *testing.T) {
	var off *telemetry.Config
	tel, err := off.Start(t.Context(), telemetry.About{})
	if err != nil || tel != nil || tel.Listen(dataset.Instance{ID: "a"}, 1) != nil {
		t.Errorf("got %v, %v; want nothing that listens", tel, err)
	}
	tel.Close()
}
