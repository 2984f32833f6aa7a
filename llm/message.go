package llm

import (
	"encoding/json"
	"slices"
)

// Roles of a message. RoleExit is batch's own: it ends a trajectory and is never sent.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
	RoleExit      = "exit"
)

// Message is one entry of a conversation. Its parts and the provider's object must not be changed after it is
// added to a conversation: copies share them, and a model may cache their encoding.
type Message struct {
	Role  string
	Parts []Part // in the order in which they were written

	// Chat is an assistant's message exactly as a server of OpenAI's chat completions wrote it, or nil. Only
	// providers of that protocol use it, and send it back verbatim; the trajectory has its members.
	Chat json.RawMessage

	// Extra is for batch's own data: actions, cost, timestamps, raw output. It is in the
	// trajectory under "extra" and is never sent to a provider. Its member "parts"
	// is reserved, see [Message.MarshalJSON].
	Extra map[string]any
}

// Part is a piece of a message: a [Text], [Reasoning], [ToolCall],
// [ToolResult] or [Image].
type Part interface{ part() }

// Text is readable text. An empty one without Opaque counts as absent.
type Text struct {
	Text   string
	Opaque Opaque
}

// Reasoning holds a model's thoughts before its answer, or another part that only its provider understands.
type Reasoning struct {
	Text   string // empty if it is hidden
	Opaque Opaque
}

// ToolCall is a request by the model to run a tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON text exactly as the model wrote it; may be malformed
	Opaque    Opaque
}

// ToolResult answers the tool call with the id CallID.
type ToolResult struct {
	CallID string
	Parts  []Part // each a Text or an Image
}

// Image is a picture for the model to see.
type Image struct {
	MediaType string // such as image/png
	Data      []byte
}

// Opaque is data that a provider added to a part and needs back with it, such as a signature. Only the
// provider named Provider reads Data. The zero value means none.
type Opaque struct {
	Provider string `json:"provider"`
	Data     string `json:"data"`
}

func (Text) part()       {}
func (Reasoning) part()  {}
func (ToolCall) part()   {}
func (ToolResult) part() {}
func (Image) part()      {}

// Say returns the parts of a message with only text and tool calls.
func Say(text string, calls ...ToolCall) (parts []Part) {
	if text != "" {
		parts = append(parts, Text{Text: text})
	}
	for _, c := range calls {
		parts = append(parts, c)
	}
	return parts
}

// Between separates two texts of the user that are sent in one message.
const Between = "\n\n* * *\n\n"

// Text returns all the readable text in m, including the text of tool results.
func (m Message) Text() string { return textOf(m.Parts) }

func textOf(parts []Part) (all string) {
	for _, p := range parts {
		switch p := p.(type) {
		case Text:
			all += p.Text
		case ToolResult:
			all += textOf(p.Parts)
		}
	}
	return all
}

// ToolCalls returns m's tool calls in order.
func (m Message) ToolCalls() (calls []ToolCall) {
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// ToolCallID returns the id of the call that m's first tool result answers, or "".
func (m Message) ToolCallID() string {
	for _, p := range m.Parts {
		if r, ok := p.(ToolResult); ok {
			return r.CallID
		}
	}
	return ""
}

// WithToolCallIDs returns m with new ids, one for each tool call in order. It also replaces them in the
// provider's object, including references to a call (reasoning that belongs to it). A provider's message that
// is not an object is dropped.
func (m Message) WithToolCallIDs(ids []string) Message {
	renamed := map[string]string{} // an id shared by several calls belongs to the first
	var calls []ToolCall
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		c, ok := p.(ToolCall)
		if !ok {
			continue
		}
		id := ids[len(calls)]
		if _, ok := renamed[c.ID]; !ok && c.ID != "" {
			renamed[c.ID] = id
		}
		c.ID = id
		m.Parts[i], calls = c, append(calls, c)
	}
	var members map[string]json.RawMessage
	if m.Chat == nil || json.Unmarshal(m.Chat, &members) != nil || members == nil {
		m.Chat = nil
		return m
	}
	members["tool_calls"] = rawCalls(members["tool_calls"], calls)
	if details, ok := members["reasoning_details"]; ok {
		members["reasoning_details"] = rawDetails(details, renamed)
	}
	m.Chat = mustEncode(members)
	return m
}

// rawCalls returns the provider's tool calls with the ids of calls.
func rawCalls(raw json.RawMessage, calls []ToolCall) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) != len(calls) {
		wire := make([]wireToolCall, len(calls))
		for i, c := range calls {
			wire[i] = toWire(c)
		}
		return mustEncode(wire)
	}
	for i, c := range calls {
		if list[i] == nil {
			list[i] = map[string]json.RawMessage{}
		}
		list[i]["id"] = mustEncode(c.ID)
	}
	return mustEncode(list)
}

// rawDetails returns OpenRouter's reasoning_details with the new ids of their calls.
func rawDetails(raw json.RawMessage, renamed map[string]string) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return raw
	}
	for i, item := range list {
		var members map[string]json.RawMessage
		var id string
		if json.Unmarshal(item, &members) != nil || json.Unmarshal(members["id"], &id) != nil {
			continue
		}
		if name, ok := renamed[id]; ok {
			members["id"] = mustEncode(name)
			list[i] = mustEncode(members)
		}
	}
	return mustEncode(list)
}

// mustEncode is encode for values that cannot fail: text, and values that were just decoded.
func mustEncode(v any) json.RawMessage {
	data, err := encode(v)
	if err != nil {
		panic(err)
	}
	return data
}
