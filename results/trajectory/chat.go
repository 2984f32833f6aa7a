package trajectory

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
)

// Chat is a message of any protocol in the form of OpenAI's chat completions.
type Chat struct {
	Role      string // system, user, assistant, tool or exit, or another tool's word
	Text      string
	Reasoning string     // text that the provider keeps apart
	Calls     []ToolCall // of an assistant
	CallID    string     // of a tool: the call that it answers
	Images    []Image    // after the text
}

// ToolCall is a call of a tool, as the model wrote it.
type ToolCall struct {
	ID, Name  string
	Arguments string // JSON; may be malformed
}

// ReadChat reads a message of a trajectory: of chat completions, of Anthropic's Messages API,
// with its blocks, or of OpenAI's Responses API. An Anthropic message may answer several
// calls, and becomes one Chat for each.
func ReadChat(message json.RawMessage) []Chat {
	m := gjson.ParseBytes(message)
	c := Chat{Role: roleOf(m), Text: textOf(m), Images: imagesOf(m)}
	switch c.Role {
	case "assistant":
		c.Reasoning, c.Calls = reasoningOf(m), toolCallsOf(m)
	case "tool":
		c.CallID = m.Get("tool_call_id").String() + m.Get("call_id").String()
	case "user":
		if answers := answersIn(m.Get("content")); len(answers) > 0 {
			if strings.TrimSpace(c.Text) != "" {
				answers = append(answers, c)
			}
			return answers
		}
	}
	return []Chat{c}
}

// answersIn returns the results of tools among the blocks of a message.
func answersIn(content gjson.Result) (answers []Chat) {
	if !content.IsArray() {
		return nil
	}
	for _, block := range content.Array() {
		if block.Get("type").String() == "tool_result" {
			answers = append(answers, Chat{Role: "tool", Text: partsOf(block.Get("content")), CallID: block.Get("tool_use_id").String()})
		}
	}
	return answers
}

// toolCallsOf returns the tool calls in a reply.
func toolCallsOf(m gjson.Result) (calls []ToolCall) {
	add := func(id, name, arguments gjson.Result) {
		text := arguments.Raw
		if arguments.Type == gjson.String {
			text = arguments.String()
		}
		calls = append(calls, ToolCall{id.String(), name.String(), text})
	}
	for _, c := range m.Get("tool_calls").Array() {
		add(c.Get("id"), c.Get("function.name"), c.Get("function.arguments"))
	}
	for _, item := range m.Get("output").Array() {
		if item.Get("type").String() == "function_call" {
			add(item.Get("call_id"), item.Get("name"), item.Get("arguments"))
		}
	}
	if content := m.Get("content"); content.IsArray() {
		for _, block := range content.Array() {
			if block.Get("type").String() == "tool_use" {
				add(block.Get("id"), block.Get("name"), block.Get("input"))
			}
		}
	}
	return calls
}

// editedBy returns the messages of an edit as texts. Secrets are hidden in them.
func editedBy(e journal.Edit, m *mask.Masker) Edited {
	to := Edited{From: e.From, To: e.To}
	for _, message := range e.Messages {
		for _, c := range ReadChat(m.JSON(message)) {
			to.Messages = append(to.Messages, Message{c.Role, c.Text, c.Images})
		}
	}
	return to
}

// withTexts returns w with the texts of its edits.
func (w Rewrite) withTexts(m *mask.Masker) Rewrite {
	for _, e := range w.edits {
		w.Edits = append(w.Edits, editedBy(e, m))
	}
	return w
}
