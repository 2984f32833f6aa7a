package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// request writes req as JSON. Everything except its end is kept for the conversation's next request, so that
// only new messages are encoded.
func (m *Model) request(req *llm.Request) (history.Body, error) {
	d, err := m.draft(req)
	if err != nil {
		return nil, err
	}
	if err := d.hold(req.Messages[len(d.system):]); err != nil {
		return nil, err
	}
	return history.Body{d.text, []byte("]}")}, nil
}

// draft is a request up to the end of its contents. Earlier requests made from it may still be read, so bytes
// in text never change.
type draft struct {
	model    *Model
	tools    []llm.Tool
	system   []llm.Message // at the start of the conversation
	messages []llm.Message // after it
	turns    []turn
	text     []byte
}

// turn is the beginning of the contents of one or more messages.
type turn struct{ message, start int }

// draft returns the kept draft of req's conversation if it matches, otherwise a new one.
func (m *Model) draft(req *llm.Request) (*draft, error) {
	system := req.Messages
	if i := slices.IndexFunc(system, func(msg llm.Message) bool { return msg.Role != llm.RoleSystem }); i >= 0 {
		system = system[:i]
	}
	if req.Memo != nil {
		d, ok := req.Memo.Kept.(*draft)
		if ok && d.model == m && history.Same(d.tools, req.Tools) && slices.EqualFunc(d.system, system, history.Unchanged) {
			return d, nil
		}
	}
	head, err := m.head(system, req.Tools)
	if err != nil {
		return nil, err
	}
	d := &draft{model: m, tools: req.Tools, system: slices.Clone(system), text: head}
	if req.Memo != nil {
		req.Memo.Kept = d
	}
	return d, nil
}

// head writes a request up to its contents.
func (m *Model) head(system []llm.Message, tools []llm.Tool) ([]byte, error) {
	members := maps.Clone(m.members)
	if members == nil {
		members = map[string]any{}
	}
	if len(tools) > 0 {
		functions := make([]function, len(tools))
		for i, t := range tools {
			functions[i] = function(t)
		}
		members["tools"] = []any{map[string]any{"functionDeclarations": functions}}
	} else {
		delete(members, "toolConfig") // refused without tools
	}
	var parts []json.RawMessage
	for _, msg := range system {
		parts = append(parts, userParts(msg.Parts)...)
	}
	if len(parts) > 0 {
		members["systemInstruction"] = map[string]any{"parts": parts}
	}
	text, err := history.Encode(members)
	if err != nil {
		return nil, err
	}
	if text = text[:len(text)-len("}")]; len(members) > 0 {
		text = append(text, ',')
	}
	return append(text, `"contents":[`...), nil
}

// function is a tool as the protocol declares it.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

// hold updates the draft to messages.
func (d *draft) hold(messages []llm.Message) error {
	known := history.Shared(d.messages, messages)
	for answersOn(d.messages, known) || answersOn(messages, known) {
		known--
	}
	d.cut(known)
	for i := known; i < len(messages); {
		end := i + 1
		for answersOn(messages, end) {
			end++
		}
		text, err := d.model.appendTurn(d.text, messages, i, end)
		if err != nil {
			return fmt.Errorf("message %d: %w", len(d.system)+i, err)
		}
		d.turns = append(d.turns, turn{i, len(d.text)})
		d.messages, d.text = append(d.messages, messages[i:end]...), text
		i = end
	}
	return nil
}

// cut removes all messages from the i-th on, which begins a turn.
func (d *draft) cut(i int) {
	if i == len(d.messages) {
		return
	}
	n := slices.IndexFunc(d.turns, func(t turn) bool { return t.message == i })
	d.text = slices.Clone(d.text[:d.turns[n].start])
	d.messages, d.turns = d.messages[:i], d.turns[:n]
}

// answersOn reports whether both the i-th message and the one before are tool results: all results of a turn
// are one content.
func answersOn(messages []llm.Message, i int) bool {
	return i > 0 && i < len(messages) && messages[i].Role == llm.RoleTool && messages[i-1].Role == llm.RoleTool
}
