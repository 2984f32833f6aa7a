package telemetry

import (
	"encoding/json"
	"strings"

	"batch.example/batch/llm"
)

// maxText is how many bytes of a text are sent.
const maxText = 8 << 10

// contentMessage is a message in the form that the conventions give gen_ai.input.messages
// and gen_ai.output.messages.
type contentMessage struct {
	Role         string        `json:"role"`
	Parts        []contentPart `json:"parts"`
	FinishReason string        `json:"finish_reason,omitempty"`
}

type contentPart struct {
	Type      string `json:"type"`
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Response  string `json:"response,omitempty"`
}

// keep keeps a copy of messages for the next call. A reply is known from its own call.
func (a *traced) keep(messages []llm.Message) {
	if !a.content {
		return
	}
	for _, m := range messages {
		if m.Role != llm.RoleAssistant && m.Role != llm.RoleExit {
			a.added = append(a.added, a.message(m))
		}
	}
}

// message returns the texts of m, without images and data that only a provider can read.
func (t *Telemetry) message(m llm.Message) contentMessage {
	c := contentMessage{Role: m.Role, Parts: []contentPart{}}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			c.Parts = append(c.Parts, contentPart{Type: "text", Content: t.text(p.Text)})
		case llm.Reasoning:
			if p.Text != "" {
				c.Parts = append(c.Parts, contentPart{Type: "reasoning", Content: t.text(p.Text)})
			}
		case llm.ToolCall:
			c.Parts = append(c.Parts, contentPart{Type: "tool_call", ID: p.ID, Name: p.Name, Arguments: t.text(p.Arguments)})
		case llm.ToolResult:
			text := llm.Message{Parts: p.Parts}.Text()
			c.Parts = append(c.Parts, contentPart{Type: "tool_call_response", ID: p.CallID, Response: t.text(text)})
		}
	}
	return c
}

// text returns s as it is sent: without secrets, and cut. Secrets are hidden before the
// cut, so that no part of a divided one is sent.
func (t *Telemetry) text(s string) string {
	s = t.about.Mask.Text(s)
	if len(s) > maxText {
		s = s[:maxText] + "..."
	}
	return valid(s)
}

// valid returns s as UTF-8. A batch of spans with any other text cannot be sent.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // there are only strings in it
	}
	return string(text)
}
