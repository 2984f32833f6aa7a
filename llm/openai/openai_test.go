package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

const planted = "sk-planted-0123456789/abc+def"

// fast retries with almost no wait.
var fast = llm.RetryPolicy{Tries: 3, Base: time.Millisecond, Max: time.Millisecond}

// compose returns the model as a run uses it: with retries.
func compose(t testing.TB, cfg endpoint.Config) llm.Model {
	t.Helper()
	return composeLogged(t, cfg, nil)
}

func composeLogged(t testing.TB, cfg endpoint.Config, log *slog.Logger) llm.Model {
	t.Helper()
	m, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return llm.Calls{Log: log}.Compose(m)
}

func newModel(t *testing.T, s *stub.Server, change func(*endpoint.Config)) llm.Model {
	t.Helper()
	cfg := endpoint.Config{Model: "m", BaseURL: s.URL, APIKey: planted, Retry: fast}
	if change != nil {
		change(&cfg)
	}
	m := compose(t, cfg)
	return m
}

func ask(messages ...llm.Message) *llm.Request {
	if len(messages) == 0 {
		messages = []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say("s")}, {Role: llm.RoleUser, Parts: llm.Say("hi <b> \u00e9")}}
	}
	return &llm.Request{Messages: messages}
}

func bashTool() llm.Tool {
	return llm.Tool{Name: "bash", Description: "run", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)}
}

func TestTextReply(t *testing.T) {
	a := stub.Text("hello")
	a.Usage = vocab.Usage{Input: 100, Cached: 40, CacheWrite: 20, Output: 10, Reasoning: 4}
	a.Model = "m-2025-01-02"
	s := stub.NewServer(t, a)
	m := newModel(t, s, func(c *endpoint.Config) {
		c.Prices = price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1, CachedInput: 0.5, Output: 2}}}}
	})
	resp, err := m.Generate(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	if resp.Message.Text() != "hello" || resp.FinishReason != "stop" || resp.Model != "m-2025-01-02" || resp.Usage != a.Usage {
		t.Errorf("response %+v, want text %q, finish reason %q, model %q, usage %v",
			resp, "hello", "stop", "m-2025-01-02", a.Usage)
	}
	if !resp.Priced || resp.Cost != 60+20+20 {
		t.Errorf("cost %v, priced %v, want 100", resp.Cost, resp.Priced)
	}
	if !json.Valid(resp.Raw) || !json.Valid(resp.Message.Chat) || !strings.Contains(string(resp.Raw), "chatcmpl-1") {
		t.Errorf("raw %s, message %s; want valid JSON in raw, valid JSON in message.chat, %q in the raw",
			resp.Raw, resp.Message.Chat, "chatcmpl-1")
	}
	r := s.Requests()[0]
	if got := r.Header.Get("Authorization"); got != "Bearer "+planted {
		t.Errorf("authorization %q, want %v", got, "Bearer "+planted)
	}
	if string(r.Messages[1].Content) == "" || r.Model != "m" || r.Members["tools"] != nil {
		t.Errorf("body %s, want some content, model %q, tools nil", r.Body, "m")
	}
}

func TestToolCallsGoBackVerbatim(t *testing.T) {
	first := stub.Bash("ls -l && echo '<é>'")
	first.Message = map[string]any{"reasoning_details": []any{map[string]any{"signature": "a+/=", "n": 12345678901234567}}, "reasoning": "hm"}
	s := stub.NewServer(t, first, stub.Text("done"))
	m := newModel(t, s, func(c *endpoint.Config) {
		c.Kwargs = map[string]any{"parallel_tool_calls": true}
	})
	req := ask()
	req.Tools = []llm.Tool{bashTool()}
	resp, err := m.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.ToolCall{{ID: "call_1", Name: "bash", Arguments: `{"command":"ls -l \u0026\u0026 echo '\u003cé\u003e'"}`}}
	if diff := cmp.Diff(want, resp.Message.ToolCalls()); diff != "" || resp.FinishReason != "tool_calls" {
		t.Fatalf("tool calls (-want +got):\n%s", diff)
	}
	back := resp.Message
	back.Extra = map[string]any{"cost": 1.0, "secret": "of batch"}
	req.Messages = append(req.Messages, back, llm.Message{
		Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: "call_1", Parts: llm.Say("a.txt")}}, Extra: map[string]any{"returncode": 0},
	})
	if _, err := m.Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	sent := s.Requests()[1]
	if got := string(sent.Messages[2].Raw); got != string(resp.Message.Chat) {
		t.Errorf("sent back %s, want %v\nreceived  %s", got, string(resp.Message.Chat), resp.Message.Chat)
	}
	if sent.Messages[3].ToolCallID != "call_1" || strings.Contains(string(sent.Body), "of batch") {
		t.Errorf("body %s, want tool call ID %q, no %q in the body", sent.Body, "call_1", "of batch")
	}
	if got := string(sent.Tools[0].Function.Parameters); !strings.Contains(got, `"required":["command"]`) {
		t.Errorf("parameters %s, want %q", got, `"required":["command"]`)
	}
	if string(sent.Members["parallel_tool_calls"]) != "true" {
		t.Errorf("the request lacks parallel_tool_calls: %s", sent.Body)
	}
}

func TestAssistantMessagesFromBatchAreValid(t *testing.T) {
	s := stub.NewServer(t, stub.Text("ok"))
	_, err := newModel(t, s, nil).Generate(t.Context(), ask(
		llm.Message{Role: llm.RoleUser, Parts: llm.Say("")},
		llm.Message{Role: llm.RoleAssistant},
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "a", Name: "bash", Arguments: "{"}, llm.ToolCall{ID: "b", Name: "bash"}}},
		llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: "b"}}},
		llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: "a"}}},
	))
	if err != nil {
		t.Error(err)
	}
}

func TestKwargsReachTheProvider(t *testing.T) {
	s := stub.NewServer(t, stub.Text("ok"))
	m := newModel(t, s, func(c *endpoint.Config) {
		c.BaseURL, c.APIKey = "http://127.0.0.1:1/none", "unused-key"
		c.Kwargs = map[string]any{
			"temperature": 0.0, "max_tokens": 17, "drop_params": true, "parallel_tool_calls": true, "a.b": "dotted",
			"extra_body":    map[string]any{"top_k": 5, "provider": map[string]any{"order": []any{"x"}}},
			"extra_headers": map[string]any{"X-Title": "batch"},
			"api_base":      s.URL, "api_key": planted, "timeout": 5, "num_retries": 0,
		}
	})
	if _, err := m.Generate(t.Context(), ask()); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[0]
	want := map[string]string{
		"temperature": "0", "max_tokens": "17", "top_k": "5", "provider": `{"order":["x"]}`, "a.b": `"dotted"`,
		"drop_params": "", "parallel_tool_calls": "", "extra_body": "", "api_key": "", "timeout": "",
	}
	for name, value := range want {
		if got := string(r.Members[name]); got != value {
			t.Errorf("%s = %s, want %s", name, got, value)
		}
	}
	if r.Header.Get("X-Title") != "batch" || r.Header.Get("Authorization") != "Bearer "+planted {
		t.Errorf("header %v, want the extra X-Title and the key", r.Header)
	}
}

func TestCacheControlMarksTheLastMessage(t *testing.T) {
	const mark = `"cache_control":{"type":"ephemeral"}`
	call := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "a", Name: "bash", Arguments: "{}"}}}
	for role, msg := range map[string]llm.Message{
		"user": {Role: llm.RoleUser, Parts: llm.Say("x")},
		"tool": {Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: "a", Parts: llm.Say("x")}}},
	} {
		s := stub.NewServer(t, stub.Text("ok"))
		m := newModel(t, s, func(c *endpoint.Config) { c.CacheControl = endpoint.CacheControlEnd })
		messages := []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("first")}}
		if role == "tool" {
			messages = append(messages, call)
		}
		if _, err := m.Generate(t.Context(), ask(append(messages, msg)...)); err != nil {
			t.Fatal(err)
		}
		sent := s.Requests()[0].Messages
		if last := string(sent[len(sent)-1].Raw); !strings.Contains(last, mark) || strings.Contains(string(sent[0].Raw), mark) {
			t.Errorf("%s: first %s, last %s; want %q in the last message, no %q in the raw", role, sent[0].Raw, last, mark, mark)
		}
	}
}

func TestSourcesOfTheCost(t *testing.T) {
	named := 0.25
	withCost := func(a stub.Answer) stub.Answer { a.Cost = &named; return a }
	withHeader := func(a stub.Answer) stub.Answer {
		a.Header = map[string]string{"x-litellm-response-cost": "0.125"}
		return a
	}
	used := stub.Text("ok")
	used.Usage = vocab.Usage{Input: 10, Output: 1}
	tests := []struct {
		name   string
		answer stub.Answer
		ignore bool
		prices price.Table
		cost   float64
		priced bool
	}{
		{"the provider's usage", withHeader(withCost(used)), false, price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 9}}}}, 0.25, true},
		{"the proxy's header", withHeader(used), false, price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 9}}}}, 0.125, true},
		{"the table", used, false, price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1, Output: 2}}}}, 12, true},
		{"none", used, false, nil, 0, false},
		{"none, and it is not needed", used, true, nil, 0, true},
		{"a table without token counts", stub.Text("ok"), false, price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1}}}}, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newModel(t, stub.NewServer(t, tt.answer), func(c *endpoint.Config) {
				c.Prices, c.IgnoreCost = tt.prices, tt.ignore
			})
			resp, err := m.Generate(t.Context(), ask())
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(resp.Cost-tt.cost) > 1e-9 || resp.Priced != tt.priced {
				t.Errorf("cost %v, priced %v; want %v, %v", resp.Cost, resp.Priced, tt.cost, tt.priced)
			}
		})
	}
}

// The bubble's clock makes the time limit exact, however slow the machine is.
// It needs connections inside the bubble: real HTTP over pipes.
func TestASilentServerIsATransientFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serve(t, func(n int, _ *stub.Request) stub.Answer {
			if n == 1 {
				return stub.Answer{Fault: stub.Silence}
			}
			return stub.Text("ok")
		})
		m := compose(t, endpoint.Config{
			Model: "m", BaseURL: "http://pipe/v1", APIKey: planted, Retry: fast,
			RequestTimeout: time.Minute, HTTP: client,
		})
		resp, err := m.Generate(t.Context(), ask())
		if err != nil || resp.Message.Text() != "ok" {
			t.Fatalf("%+v, %v: want an answer after one silence", resp, err)
		}
		if wait := resp.Waited - time.Minute; wait < 0 || wait > 2*fast.Max {
			t.Errorf("waited %v, want the minute of silence and a wait before another try", resp.Waited)
		}
	})
}

// serve answers the client's requests over pipes until the test ends.
func serve(t *testing.T, next func(n int, r *stub.Request) stub.Answer) *http.Client {
	t.Helper()
	done := make(chan struct{})
	conns := make(pipes)
	server := &http.Server{Handler: &stub.Handler{Next: next, Done: done, Illegal: func(err error) { t.Error(err) }}}
	transport := &http.Transport{DialContext: conns.dial}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(conns) }) // until it is closed
	t.Cleanup(func() {
		close(done)
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return &http.Client{Transport: transport}
}

// pipes is a listener for connections within this process.
type pipes chan net.Conn

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func TestCancelEndsTheCallAtOnce(t *testing.T) {
	s := stub.NewServer(t, stub.Answer{Fault: stub.Silence})
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(20*time.Millisecond, cancel).Stop()
	_, err := newModel(t, s, nil).Generate(ctx, ask())
	if !fault.Canceled(err) || len(s.Requests()) > 1 {
		t.Errorf("error %v after %d requests; want a cancellation, requests at most 1", err, len(s.Requests()))
	}
}

func TestNoKeySendsNoAuthorization(t *testing.T) {
	s := stub.NewServer(t, stub.Text("ok"))
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	m := newModel(t, s, func(c *endpoint.Config) { c.APIKey = "" })
	if _, err := m.Generate(t.Context(), ask()); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[0].Header.Values("Authorization"); len(got) > 0 {
		t.Errorf("authorization %q, want none: only the Config counts", got)
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	tests := []struct {
		name string
		cfg  endpoint.Config
		kind fault.Kind
		want string
	}{
		{"no model", endpoint.Config{APIKey: planted}, fault.Usage, "no model name"},
		{"no key", endpoint.Config{Model: "openai/m"}, fault.Host, "API key"},
		{"base URL", endpoint.Config{Model: "m", BaseURL: "user:" + planted + "@host"}, fault.Usage, "base URL"},
		{"cache control", endpoint.Config{Model: "m", APIKey: planted, CacheControl: "x"}, fault.Usage, "default_end"},
		{"messages", endpoint.Config{Model: "m", Kwargs: map[string]any{"messages": 1}}, fault.Usage, "model_kwargs.messages"},
		{"stream", endpoint.Config{Model: "m", Kwargs: map[string]any{"stream": "often"}}, fault.Usage, "model_kwargs.stream"},
		{"stream in the body", endpoint.Config{Model: "m", Kwargs: map[string]any{"extra_body": map[string]any{"stream": true}}}, fault.Usage, "extra_body.stream"},
		{"LiteLLM's own", endpoint.Config{Model: "m", Kwargs: map[string]any{"fallbacks": []any{"x"}}}, fault.Usage, "LiteLLM"},
		{"key of a wrong type", endpoint.Config{Model: "m", Kwargs: map[string]any{"api_key": []any{planted}}}, fault.Usage, "api_key"},
		{"header of a wrong type", endpoint.Config{Model: "m", Kwargs: map[string]any{"extra_headers": map[string]any{"X": 5}}}, fault.Usage, `"X"`},
		{"retries", endpoint.Config{Model: "m", Kwargs: map[string]any{"num_retries": 1.5}}, fault.Usage, "whole number"},
		{"timeout", endpoint.Config{Model: "m", Kwargs: map[string]any{"timeout": "soon"}}, fault.Usage, "seconds"},
		{"no number of seconds", endpoint.Config{Model: "m", Kwargs: map[string]any{"timeout": math.NaN()}}, fault.Usage, "seconds"},
		{"extra body", endpoint.Config{Model: "m", Kwargs: map[string]any{"extra_body": "x"}}, fault.Usage, "mapping"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openai.New(tt.cfg)
			if fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), planted) {
				t.Errorf("error %v (%v), want %v with %q", err, fault.KindOf(err), tt.kind, tt.want)
			}
		})
	}
}

func TestErrorsAndLogsContainNoSecrets(t *testing.T) {
	echo := "Incorrect API key provided: " + planted + " (Authorization: Bearer " + planted + "), user tok-in-url-1, header hdr-secret-1"
	long := strings.Repeat("x", 575) + " " + planted // would be truncated in the middle of the key
	quoted, _ := json.Marshal(echo)
	for name, a := range map[string]stub.Answer{
		"401":              stub.Refusal(401, "invalid_api_key", echo),
		"400":              stub.Refusal(400, "bad", echo),
		"500, at the clip": stub.Refusal(500, "oops", long),
		"plain text":       {Status: 503, Body: []byte(echo)},
		"in a 200":         {Body: []byte(`{"error":{"code":502,"message":` + string(quoted) + `}}`)},
		"in the cause":     {Body: []byte(`{"choices":"` + planted + `"}`)},
		"hangup":           {Fault: stub.Hangup},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := stub.NewServer(t, a)
			m := composeLogged(t, endpoint.Config{
				Model: "m", APIKey: planted, Retry: fast,
				BaseURL: strings.Replace(s.URL, "http://", "http://tok-in-url-1:pass-in-url@", 1),
				Kwargs:  map[string]any{"extra_headers": map[string]any{"X-Proxy": "Bearer hdr-secret-1"}},
			}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
			_, err := m.Generate(t.Context(), ask())
			if err == nil {
				t.Fatal("got no error from a canceled call")
			}
			all := err.Error() + fault.HintOf(err) + log.String()
			for _, secret := range []string{planted, planted[:20], "tok-in-url-1", "pass-in-url", "hdr-secret-1"} {
				if strings.Contains(all, secret) {
					t.Errorf("got %q stands in %s; want no %q", secret, all, secret)
				}
			}
		})
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	s := stub.NewServerFunc(t, func(n int, _ *stub.Request) stub.Answer {
		if n%3 == 0 {
			return stub.Refusal(http.StatusTooManyRequests, "rate_limit_exceeded", "slow down")
		}
		return stub.Text("ok")
	})
	m := newModel(t, s, func(c *endpoint.Config) { c.Retry.Tries = 50 })
	errs := make(chan error, 64)
	for range cap(errs) {
		go func() { _, err := m.Generate(t.Context(), ask()); errs <- err }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestTheEndpointIsTakenFromModelKwargs(t *testing.T) {
	for name, c := range map[string]struct {
		cfg       endpoint.Config
		base, key string
	}{
		"the default":   {endpoint.Config{APIKey: "k"}, openai.Protocol.DefaultBase, "k"},
		"the config's":  {endpoint.Config{BaseURL: "http://h/v1"}, "http://h/v1", ""},
		"the kwargs'":   {endpoint.Config{BaseURL: "http://h/v1", APIKey: "k", Kwargs: map[string]any{"api_base": "http://k/v1", "api_key": "own"}}, "http://k/v1", "own"},
		"another name":  {endpoint.Config{APIKey: "k", Kwargs: map[string]any{"base_url": "http://k/v1"}}, "http://k/v1", "k"},
		"nothing of it": {endpoint.Config{BaseURL: "http://h/v1", Kwargs: map[string]any{"temperature": 0}}, "http://h/v1", ""},
	} {
		base, key, err := c.cfg.Target(openai.Protocol)
		if err != nil || base != c.base || key != c.key {
			t.Errorf("%s: got %q, %q, %v; want base %v, key %v, no error", name, base, key, err, c.base, c.key)
		}
	}
	if _, _, err := (endpoint.Config{Kwargs: map[string]any{"api_base": 5}}).Target(openai.Protocol); fault.KindOf(err) != fault.Usage {
		t.Errorf("base_url is a number: got error %v, want a Usage fault", err)
	}
}
