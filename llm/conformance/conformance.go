// Package conformance checks a provider's client against the server of package stub: the requests that the
// client sends, the parts of an answer that it keeps, and its failures. One suite serves all protocols:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Client{
//			Protocol: stub.Anthropic,
//			Open: func(cfg endpoint.Config) (llm.Model, error) { return anthropic.New(cfg) },
//		})
//	}
//
// The stub enforces the rules of the real provider: in every part of the suite, a request that breaks one
// fails the test.
//
// Its API is not promised to other programs: see package batch.
package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/stub"
)

// Client is a client under test.
type Client struct {
	Protocol stub.Protocol

	// Open opens a model. Each of its calls must be one request.
	Open func(endpoint.Config) (llm.Model, error)
}

// models are the names that the stub accepts.
var models = map[stub.Protocol]string{
	stub.Chat: "m", stub.Responses: "gpt-5", stub.Anthropic: "claude-sonnet-4-5", stub.Gemini: "gemini-3-pro-preview",
}

// parts of the suite, each a subtest.
var parts = []struct {
	name string
	run  func(*suite)
}{
	{"text reply", (*suite).textReply},
	{"tool calls", (*suite).toolCalls},
	{"reasoning over turns", (*suite).reasoning},
	{"stops", (*suite).stops},
	{"paused turn", (*suite).paused},
	{"usage", (*suite).usage},
	{"missing usage", (*suite).missingUsage},
	{"price", (*suite).price},
	{"odd answers", (*suite).oddAnswers},
	{"resumed conversation", (*suite).resumed},
	{"growing request", (*suite).growing},
	{"refusals", (*suite).refusals},
	{"first request refused", (*suite).firstRefused},
	{"broken answers", (*suite).broken},
	{"retry after", (*suite).retryAfter},
	{"rate-limit headers", (*suite).rateHeaders},
	{"secrets", (*suite).secrets},
	{"redirects", (*suite).redirects},
	{"keys of turns", (*suite).turnKeys},
	{"no key but a turn's", (*suite).withoutKey},
	{"a turn's key refused", (*suite).turnRefused},
	{"connections", (*suite).connections},
	{"cancel", (*suite).cancel},
}

// Run runs the suite as subtests of t, for whole answers and for streamed ones.
func Run(t *testing.T, c Client) {
	for _, stream := range []bool{false, true} {
		with := suite{Client: c, stream: stream}
		t.Run(fmt.Sprintf("stream %v", stream), func(t *testing.T) { runAll(t, with) })
	}
}

func runAll(t *testing.T, s suite) {
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			one := s
			one.T, one.model = t, models[s.Protocol]
			part.run(&one)
		})
	}
}

// suite runs one part of the suite for one client.
type suite struct {
	*testing.T
	Client
	model  string
	stream bool
}

// Key is the API key of all requests. No error may contain it.
const Key = "sk-planted-0123456789abcdef"

// config returns the usual configuration for a server.
func (s *suite) config(at *stub.Server) endpoint.Config {
	return endpoint.Config{
		Model: s.model, BaseURL: at.Base(s.Protocol), APIKey: Key, IgnoreCost: true,
		Kwargs: map[string]any{"stream": s.stream},
	}
}

// serve starts a server with the answers, and opens a model for it. When the test ends, the model must have
// closed all bodies.
func (s *suite) serve(answers ...stub.Answer) (*stub.Server, llm.Model) {
	s.Helper()
	at := stub.NewServer(s, answers...)
	return at, s.open(s.config(at))
}

func (s *suite) open(cfg endpoint.Config) llm.Model {
	s.Helper()
	watch := &watched{}
	cfg.HTTP = &http.Client{Transport: watch}
	m, err := s.Client.Open(cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if n := watch.open.Load(); n != 0 {
			s.Errorf("%d bodies of answers were not closed, want all closed", n)
		}
	})
	return m
}

// generate makes a call that must succeed.
func (s *suite) generate(m llm.Model, req *llm.Request) *llm.Response {
	s.Helper()
	resp, err := m.Generate(s.Context(), req)
	if odd, ok := errors.AsType[*llm.Lasting](err); ok && odd.Reply != nil {
		resp, err = odd.Reply, nil // as a call does after its last try
	}
	if err != nil {
		s.Fatal(err)
	}
	if resp.Message.Role != llm.RoleAssistant {
		s.Errorf("the answer's role is %q, want %q", resp.Message.Role, llm.RoleAssistant)
	}
	if !json.Valid(resp.Raw) {
		s.Errorf("the raw answer %q is not JSON, want the provider's answer in its form without streaming", resp.Raw)
	}
	return resp
}

// ask begins a conversation that offers the tool bash.
func ask() *llm.Request {
	return &llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Parts: llm.Say("You are a helpful assistant.")},
			{Role: llm.RoleUser, Parts: llm.Say("Fix the bug <now> & tell me: \u00e9 \U0001f600")},
		},
		Tools: []llm.Tool{{
			Name: "bash", Description: "Run a command.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
		}},
		Memo: new(llm.Memo),
	}
}

// note is a value in the Extra of messages, which belongs to batch and is never sent.
const note = "a note of batch"

// observed adds an answer to the conversation, and a result for each of its tool calls.
func observed(req *llm.Request, resp *llm.Response) {
	answer := resp.Message
	answer.Extra = map[string]any{"cost": 0.5, "note": note}
	req.Messages = append(req.Messages, answer)
	for i, c := range resp.Message.ToolCalls() {
		result := llm.ToolResult{CallID: c.ID, Parts: llm.Say(fmt.Sprintf("output %d of %s", i+1, c.Name))}
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{result}, Extra: map[string]any{"returncode": 0.0}})
	}
}

// said adds a text of the user.
func said(req *llm.Request, text string) {
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Parts: llm.Say(text)})
}

// last returns the latest request that the server accepted, or refused by its rules.
func last(at *stub.Server) *stub.Request {
	all := at.Requests()
	return all[len(all)-1]
}

// watched counts open bodies.
type watched struct{ open atomic.Int64 }

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		w.open.Add(1)
		resp.Body = &watchedBody{ReadCloser: resp.Body, w: w}
	}
	return resp, err
}

type watchedBody struct {
	io.ReadCloser
	w      *watched
	closed atomic.Bool
}

func (b *watchedBody) Close() error {
	if b.closed.CompareAndSwap(false, true) {
		b.w.open.Add(-1)
	}
	return b.ReadCloser.Close()
}
