package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"batch.example/batch/llm"
)

// wire returns messages as they are sent, see [alternate].
func wire(messages []llm.Message) (sent []llm.Message) {
	for _, m := range messages {
		sent = alternate(sent, m)
	}
	return sent
}

// alternate appends a message to those that are sent. Two messages of the user in a row, such as the
// task and the answer to an unusable reply, are sent as one: the chat templates of Mistral and Gemma
// take only roles that alternate. Each NUL is sent as U+FFFD, because servers refuse it.
func alternate(sent []llm.Message, m llm.Message) []llm.Message {
	m = withoutNUL(m)
	last := len(sent) - 1
	if last < 0 || m.Role != llm.RoleUser || sent[last].Role != llm.RoleUser {
		return append(sent, m)
	}
	one := llm.Message{Role: llm.RoleUser, Parts: slices.Concat(sent[last].Parts, m.Parts)}
	if first, ok := plain(sent[last]); ok {
		if second, ok := plain(m); ok {
			one.Parts = llm.Say(first + llm.Between + second)
		}
	}
	return append(slices.Clone(sent[:last]), one) // the request before may still hold the other
}

// plain returns the text of a message that is nothing else.
func plain(m llm.Message) (string, bool) {
	if len(m.Parts) != 1 {
		return "", false
	}
	text, ok := m.Parts[0].(llm.Text)
	return text.Text, ok && text.Opaque == llm.Opaque{}
}

const nul = "\x00"

// withoutNUL returns m without NUL in its texts. What a provider wrote itself and sealed goes back
// as it is.
func withoutNUL(m llm.Message) llm.Message {
	if !slices.ContainsFunc(m.Parts, hasNUL) {
		return m
	}
	m.Parts = mapTexts(m.Parts, visible)
	var members map[string]json.RawMessage
	var content string
	if m.Chat != nil && json.Unmarshal(m.Chat, &members) == nil && json.Unmarshal(members["content"], &content) == nil {
		members["content"], _ = json.Marshal(visible(content)) // a string
		m.Chat, _ = json.Marshal(members)
	}
	return m
}

func hasNUL(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Text:
		return strings.Contains(p.Text, nul)
	case llm.ToolResult:
		return slices.ContainsFunc(p.Parts, hasNUL)
	}
	return false
}

// mapTexts returns parts with their texts changed, those of results included.
func mapTexts(parts []llm.Part, change func(string) string) []llm.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			p.Text = change(p.Text)
			parts[i] = p
		case llm.ToolResult:
			p.Parts = mapTexts(p.Parts, change)
			parts[i] = p
		}
	}
	return parts
}

func visible(text string) string { return strings.ReplaceAll(text, nul, "\uFFFD") }
