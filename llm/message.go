package llm

import (
	"bytes"
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
	return encode(w)
}

func (m Message) marshalRaw() ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(m.Raw, &members); err != nil {
		return nil, fmt.Errorf("reading the provider's message: %w", err)
	}
	delete(members, "extra")
	if len(m.Extra) > 0 {
		extra, err := encode(m.Extra)
		if err != nil {
			return nil, err
		}
		members["extra"] = extra
	}
	return encode(members)
}

// encode is json.Marshal that leaves <, > and & as they are, as the peer does.
// An encoder around it keeps them only when it is told to.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and the messages of other
// tools' trajectories: content may be null, a string or a list of text parts,
// the arguments of a tool call text or plain JSON. Member names are exact.
func (m *Message) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	var read Message
	var calls []wireToolCall
	for name, into := range map[string]any{
		"role": &read.Role, "tool_calls": &calls, "tool_call_id": &read.ToolCallID, "extra": &read.Extra,
	} {
		if raw, ok := members[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("reading a message's %s: %w", name, err)
			}
		}
	}
	text, err := contentText(members["content"])
	if err != nil {
		return err
	}
	read.Content = text
	for _, c := range calls {
		read.ToolCalls = append(read.ToolCalls, ToolCall{c.ID, c.Function.Name, string(c.Function.Arguments)})
	}
	if len(read.Extra) == 0 {
		read.Extra = nil
	}
	if read.Role == RoleAssistant {
		delete(members, "extra")
		if read.Raw, err = json.Marshal(members); err != nil {
			return err
		}
	}
	*m = read
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
		Name      string       `json:"name"`
		Arguments argumentText `json:"arguments"`
	} `json:"function"`
}

// argumentText is JSON in a string, as OpenAI writes it; some servers and
// tools write the JSON itself instead.
type argumentText string

func (a *argumentText) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		*a = argumentText(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

func toWire(c ToolCall) wireToolCall {
	w := wireToolCall{ID: c.ID, Type: "function"}
	w.Function.Name, w.Function.Arguments = c.Name, argumentText(c.Arguments)
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
