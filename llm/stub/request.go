package stub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"batch.example/batch/llm"
	"batch.example/batch/llm/inbound"
)

// Request is a request that the server received.
type Request struct {
	Protocol Protocol
	Header   http.Header
	Body     []byte
	Model    string
	Stream   bool
	Messages []Message // Anthropic's messages, Gemini's contents, the input items of Responses
	Tools    []Tool
	Members  map[string]json.RawMessage // all members of the body

	ctx   context.Context // ends when the client gives up
	turns func() []llm.Message
}

// Context ends when the client gives up.
func (r *Request) Context() context.Context { return cmp.Or(r.ctx, context.Background()) }

// Turns returns the conversation without the forms of a protocol: system text, texts of the user and the
// model, reasoning with its signature in Opaque.Data, tool results. The caller must not change it.
func (r *Request) Turns() []llm.Message {
	if r.turns == nil {
		return nil
	}
	return r.turns()
}

// Message is a message of a request. In protocols other than chat completions it has only Role and Raw, and
// Role is the original one of the user or model, or an item's type.
type Message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []ToolCall      `json:"tool_calls"`
	Raw        json.RawMessage `json:"-"` // the whole original object
}

// ToolCall is a tool call in a request's assistant message.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

// Tool is a tool offered in a request.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Replies returns the number of the model's messages, which is the place in a conversation.
func (r *Request) Replies() int {
	n := 0
	if r.Protocol == Chat { // a quick way, without decoding the messages
		for _, m := range r.Messages {
			if m.Role == llm.RoleAssistant {
				n++
			}
		}
		return n
	}
	for _, t := range r.Turns() {
		if t.Role == llm.RoleAssistant {
			n++
		}
	}
	return n
}

// System returns the system text.
func (r *Request) System() string { return r.textOf(llm.RoleSystem) }

// Task returns the user's first message.
func (r *Request) Task() string { return r.textOf(llm.RoleUser) }

func (r *Request) textOf(role string) string {
	for _, t := range r.Turns() {
		if t.Role == role {
			return t.Text()
		}
	}
	return ""
}

// newRequest reads the members of a body.
func newRequest(p Protocol, header http.Header, body []byte) (*Request, error) {
	r := &Request{Protocol: p, Header: header, Body: body}
	if err := json.Unmarshal(body, &r.Members); err != nil {
		return r, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	_ = json.Unmarshal(r.Members["stream"], &r.Stream)
	return r, nil
}

// wantsUsage reports whether a streamed chat completion ends with its usage.
func (r *Request) wantsUsage() bool {
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	return json.Unmarshal(r.Members["stream_options"], &options) == nil && options.IncludeUsage
}

// readChat parses a body. Its errors are in OpenAI's words.
func readChat(header http.Header, body []byte) (*Request, error) {
	r, err := newRequest(Chat, header, body)
	if err != nil {
		return r, err
	}
	var messages []json.RawMessage
	for name, into := range map[string]any{"model": &r.Model, "messages": &messages, "tools": &r.Tools} {
		if raw, ok := r.Members[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return r, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for i, raw := range messages {
		m := Message{Raw: raw}
		if err := json.Unmarshal(raw, &m); err != nil {
			return r, fmt.Errorf("messages[%d]: %w", i, err)
		}
		r.Messages = append(r.Messages, m)
	}
	r.turns = sync.OnceValue(func() []llm.Message {
		var turns []llm.Message
		for _, m := range r.Messages {
			turns = append(turns, inbound.ChatMessage(m.Raw))
		}
		return turns
	})
	return r, r.check()
}

func (r *Request) check() error {
	if r.Model == "" {
		return fmt.Errorf("you must provide a model parameter")
	}
	if len(r.Messages) == 0 {
		return fmt.Errorf("messages: expected at least one")
	}
	for i, t := range r.Tools {
		if t.Type != "function" || t.Function.Name == "" {
			return fmt.Errorf("tools[%d]: expected a function with a name", i)
		}
	}
	if _, ok := r.Members["parallel_tool_calls"]; ok && len(r.Tools) == 0 {
		return fmt.Errorf("parallel_tool_calls is only allowed when tools are specified")
	}
	return r.checkTurns()
}

// checkTurns checks that every tool call is answered before another speaker's message, and that ids of calls
// are unique (as with Anthropic).
func (r *Request) checkTurns() error {
	open, used := map[string]bool{}, map[string]bool{}
	for i, m := range r.Messages {
		if err := m.check(); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return fmt.Errorf("messages[%d]: tool_call_id %q answers no open tool call", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("messages[%d]: %d tool calls before it have no answer", i, len(open))
		}
		for _, c := range m.ToolCalls {
			if used[c.ID] {
				return fmt.Errorf("messages[%d]: tool call id %q is used twice", i, c.ID)
			}
			open[c.ID], used[c.ID] = true, true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool calls have no answer", len(open))
	}
	return nil
}

func (m *Message) check() error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(m.Raw, &members); err != nil {
		return err
	}
	if _, ok := members["extra"]; ok {
		return fmt.Errorf("unknown member extra")
	}
	content := string(m.Content)
	hasContent := content != "" && content != "null"
	switch m.Role {
	case "system", "developer", "user", "tool":
		if !hasContent {
			return fmt.Errorf("a %s message needs content", m.Role)
		}
	case "assistant":
		if !hasContent && len(m.ToolCalls) == 0 {
			return fmt.Errorf("an assistant message needs content or tool_calls")
		}
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	for i, c := range m.ToolCalls {
		if c.ID == "" || c.Type != "function" || c.Function.Name == "" || c.Function.Arguments == nil {
			return fmt.Errorf("tool_calls[%d]: expected id, type function, name and arguments", i)
		}
	}
	return nil
}
