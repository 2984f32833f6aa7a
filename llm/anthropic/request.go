package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// request writes req as JSON, with the marks of cache breakpoints.
func (m *Model) request(req *llm.Request) (history.Body, error) {
	body, err := m.form.Marked(req, trimmed(req.Messages), m.settings.mark, m.marked)
	return append(body, []byte("]}")), err
}

// trimmed returns messages without trailing white space in a last assistant's message, which the API refuses.
func trimmed(messages []llm.Message) []llm.Message {
	last := len(messages) - 1
	if last < 0 || messages[last].Role != llm.RoleAssistant || len(messages[last].Parts) == 0 {
		return messages
	}
	parts := messages[last].Parts
	text, ok := parts[len(parts)-1].(llm.Text)
	if cut := strings.TrimRightFunc(text.Text, unicode.IsSpace); ok && cut != text.Text {
		messages, parts = slices.Clone(messages), slices.Clone(parts)
		text.Text = cut
		parts[len(parts)-1] = text
		messages[last].Parts = parts
	}
	return messages
}

// head writes a request up to its messages.
func (m *Model) head(tools []llm.Tool, system []llm.Message) ([]byte, error) {
	members := maps.Clone(m.settings.body)
	var prompt, offered [][]byte
	for _, msg := range system {
		for _, b := range blocks(msg.Parts) {
			prompt = append(prompt, b.text)
		}
	}
	for _, t := range tools {
		schema := t.Parameters
		if schema == nil {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		text, err := history.Encode(wireTool{t.Name, t.Description, schema})
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", t.Name, err)
		}
		offered = append(offered, text)
	}
	if prompt != nil {
		m.markLast(prompt)
	} else {
		m.markLast(offered)
	}
	if offered == nil {
		for _, name := range m.settings.tools {
			delete(members, name)
		}
	}
	text, err := history.Encode(members)
	if err != nil {
		return nil, err
	}
	head := object{text: text[:len(text)-len("}")]}
	if offered != nil {
		head = head.with("tools", array(offered))
	}
	if prompt != nil {
		head = head.with("system", array(prompt))
	}
	return head.with("messages", []byte("[")).text, nil
}

// markLast makes the last block of a list a cache breakpoint.
func (m *Model) markLast(list [][]byte) {
	if last := len(list) - 1; last >= 0 && m.settings.mark != nil {
		list[last] = slices.Concat(list[last][:len(list[last])-1], m.settings.mark, []byte("}"))
	}
}

type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

// turn writes consecutive messages of one side as one message of the API. A message without content parts
// nothing, and results come first.
func turn(messages []llm.Message, i int) (t history.Turn, err error) {
	var list []block
	for _, msg := range messages[i:] {
		role, own := side(msg.Role), slices.ContainsFunc(msg.Parts, sends)
		if t.Messages > 0 && (role == "" || own && t.Role != "" && role != t.Role) {
			break
		}
		if role == "" {
			return t, fmt.Errorf("role %q cannot be sent", msg.Role)
		}
		if own {
			t.Role = role
			list = append(list, blocks(msg.Parts)...)
		}
		t.Messages++
	}
	if list == nil {
		return t, nil
	}
	slices.SortStableFunc(list, func(a, b block) int { return cmp.Compare(order(a), order(b)) })
	text := append(append([]byte(`{"role":"`), t.Role...), `","content":[`...)
	mark := 0
	for i, b := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, b.text...)
		if b.marks {
			mark = len(text) - len("}")
		}
	}
	text = append(text, "]}"...)
	t.Items = []json.RawMessage{text}
	if mark > 0 {
		t.Mark = len(text) - mark
	}
	return t, nil
}

func order(b block) int {
	if b.result {
		return 0
	}
	return 1
}

// continues reports whether the next message is of the same side as any of a turn, or has no content.
func continues(turn []llm.Message, next llm.Message) bool {
	return !slices.ContainsFunc(next.Parts, sends) ||
		slices.ContainsFunc(turn, func(msg llm.Message) bool { return side(msg.Role) == side(next.Role) })
}

// marked returns the turns that end in breakpoints: the end of the conversation, and the place before the last
// answer, where the previous request ended.
func (m *Model) marked(turns []history.Turn) (list []int) {
	if m.settings.mark == nil {
		return nil
	}
	var sent []int
	for i, t := range turns {
		if t.Role != "" {
			sent = append(sent, i)
		}
	}
	answer := len(sent) - 1
	for answer >= 0 && turns[sent[answer]].Role != llm.RoleAssistant {
		answer--
	}
	for _, n := range []int{answer - 1, len(sent) - 1} {
		if n >= 0 && turns[sent[n]].Mark > 0 {
			list = append(list, sent[n])
		}
	}
	return list
}
