package llm

import (
	"encoding/json"
	"fmt"
)

// MarshalJSON writes the message as it stands in a trajectory: the provider's
// own members when there are any, else role, content and tool members, and
// "extra" when it is not empty.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Raw != nil {
		return m.marshalRaw()
	}
	w := wireMessage{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID, Extra: m.Extra}
	for _, c := range m.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, toWire(c))
	}
	return json.Marshal(w)
}

func (m Message) marshalRaw() ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(m.Raw, &members); err != nil {
		return nil, fmt.Errorf("reading the provider's message: %w", err)
	}
	delete(members, "extra")
	if len(m.Extra) > 0 {
		extra, err := json.Marshal(m.Extra)
		if err != nil {
			return nil, err
		}
		members["extra"] = extra
	}
	return json.Marshal(members)
}

// UnmarshalJSON reads what MarshalJSON writes, and the messages of other
// tools' trajectories: content may be null, a string or a list of text parts.
func (m *Message) UnmarshalJSON(data []byte) error {
	var w struct {
		wireMessage
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	text, err := contentText(w.Content)
	if err != nil {
		return err
	}
	*m = Message{Role: w.Role, Content: text, ToolCallID: w.ToolCallID, Extra: w.Extra}
	for _, c := range w.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, ToolCall{c.ID, c.Function.Name, c.Function.Arguments})
	}
	if m.Role == RoleAssistant {
		m.Raw = withoutExtra(data)
	}
	return nil
}

type wireMessage struct {
	Role       string         `json:"role"`
	Content    string         `json:"content"`
	ToolCalls  []wireToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	Extra      map[string]any `json:"extra,omitempty"`
}

type wireToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func toWire(c ToolCall) wireToolCall {
	w := wireToolCall{ID: c.ID, Type: "function"}
	w.Function.Name, w.Function.Arguments = c.Name, c.Arguments
	return w
}

// contentText joins the text parts of a message's content.
func contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if raw[0] == '"' {
		err := json.Unmarshal(raw, &text)
		return text, err
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("content is neither text nor a list of parts: %w", err)
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, nil
}

func withoutExtra(data []byte) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	delete(members, "extra")
	raw, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return raw
}
