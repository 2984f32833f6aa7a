package openai_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/stub"
)

const planted = "sk-planted-0123456789/abc+def"

// fast retries with almost no wait.
var fast = llm.RetryPolicy{Tries: 3, Base: time.Millisecond, Max: time.Millisecond}

// compose returns the model with retries, as in a run.
func compose(t testing.TB, cfg endpoint.Config) llm.Model {
	t.Helper()
	m, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return llm.Calls{}.Compose(m)
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
			"base_url":      s.URL, "api_key": planted, "timeout": 5, "num_retries": 0,
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
	withTools := ask()
	withTools.Tools = []llm.Tool{bashTool()}
	if _, err := m.Generate(t.Context(), withTools); err != nil || string(s.Requests()[1].Members["parallel_tool_calls"]) != "true" {
		t.Errorf("with a tool: %v, sent %s; want parallel_tool_calls", err, s.Requests()[1].Body)
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
		{"address of a wrong type", endpoint.Config{Model: "m", APIKey: planted, Kwargs: map[string]any{"api_base": 5}}, fault.Usage, "api_base"},
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
