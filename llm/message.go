package llm

import "encoding/json"

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
