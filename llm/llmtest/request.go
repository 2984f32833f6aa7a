package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Request is one request as the server read it.
type Request struct {
	Header   http.Header
	Body     []byte
	Model    string
	Messages []Message
	Tools    []Tool
	Members  map[string]json.RawMessage // all members of the body
}

// Message is a message of a request.
type Message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []ToolCall      `json:"tool_calls"`
	Raw        json.RawMessage `json:"-"` // the whole object as it came
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

// Replies counts the assistant messages, and so the place in a conversation.
func (r *Request) Replies() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// readRequest parses a body; what is wrong with it is said as OpenAI would.
func readRequest(header http.Header, body []byte) (*Request, error) {
	r := &Request{Header: header, Body: body}
	if err := json.Unmarshal(body, &r.Members); err != nil {
		return r, fmt.Errorf("the body is not a JSON object: %w", err)
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

// checkTurns holds the rules that every tool call is answered before anyone else
// speaks, and that no two calls have one id (as Anthropic has it).
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
