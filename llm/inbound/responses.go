package inbound

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"batch.example/batch/llm"
)

// Responses reads a request of OpenAI's Responses API. Its error names the member that is wrong.
func Responses(body []byte) (*Call, error) {
	var head struct {
		Model        string          `json:"model"`
		Limit        int64           `json:"max_output_tokens"`
		Stream       bool            `json:"stream"`
		Tools        []Tool          `json:"tools"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, err
	}
	c := &Call{Model: head.Model, Stream: head.Stream, MaxTokens: head.Limit, Tools: head.Tools}
	for i, t := range c.Tools {
		c.Tools[i].Type = function(t.Type)
	}
	if head.Instructions != "" {
		c.Messages = append(c.Messages, llm.Message{Role: llm.RoleSystem, Parts: llm.Say(head.Instructions)})
	}
	var text string
	var items []json.RawMessage
	switch {
	case json.Unmarshal(head.Input, &text) == nil:
		c.Messages = append(c.Messages, llm.Message{Role: llm.RoleUser, Parts: llm.Say(text)})
		return c, nil
	case json.Unmarshal(head.Input, &items) != nil || len(items) == 0:
		return nil, errors.New("input: expected a text, or a list with at least one item")
	}
	for _, raw := range items {
		var item Item
		_ = json.Unmarshal(raw, &item) // an item of an unknown form is read as far as it is known
		c.Messages = item.Join(c.Messages)
	}
	return c, nil
}

// Item is an item of the input of OpenAI's Responses API.
type Item struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Input     *string         `json:"input"`  // of a custom tool, in place of Arguments
	Action    json.RawMessage `json:"action"` // of a shell
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Summary   *[]struct {
		Text string `json:"text"`
	} `json:"summary"`
}

// Join adds the item to a conversation, and returns it: consecutive items of the model are one turn. An item
// without a part of a message adds nothing.
func (item Item) Join(turns []llm.Message) []llm.Message {
	role, part := llm.RoleAssistant, llm.Part(nil)
	switch {
	case item.Type == "message" || item.Type == "" && item.Role != "":
		role, part = roleOf(item.Role), llm.Text{Text: textOf(item.Content)}
	case item.Type == "reasoning":
		text := ""
		if item.Summary != nil {
			for _, s := range *item.Summary {
				text += s.Text
			}
		}
		part = llm.Reasoning{Text: text, Opaque: Opaque(item.Encrypted)}
	case item.CallID == "":
		return turns
	case strings.HasSuffix(item.Type, "_call"):
		part = llm.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.arguments()}
	case strings.HasSuffix(item.Type, "_output"):
		role, part = llm.RoleTool, llm.ToolResult{CallID: item.CallID, Parts: llm.Say(textOf(item.Output))}
	default:
		return turns
	}
	if n := len(turns); n > 0 && role == llm.RoleAssistant && turns[n-1].Role == role {
		turns[n-1].Parts = append(turns[n-1].Parts, part)
		return turns
	}
	return append(turns, llm.Message{Role: role, Parts: []llm.Part{part}})
}

func (item Item) arguments() string {
	if given := cmp.Or(item.Arguments, item.Input); given != nil {
		return *given
	}
	return string(item.Action)
}

// textOf reads content that is a text or a list of parts.
func textOf(raw json.RawMessage) (all string) {
	if json.Unmarshal(raw, &all) == nil {
		return all
	}
	var parts []struct{ Text, Refusal string }
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		all += p.Text + p.Refusal
	}
	return all
}
