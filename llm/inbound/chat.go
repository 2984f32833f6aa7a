package inbound

import (
	"cmp"
	"encoding/json"
	"errors"

	"batch.example/batch/llm"
)

// Chat reads a request of OpenAI's chat completions. Its error names the member that is wrong.
func Chat(body []byte) (*Call, error) {
	var head struct {
		Model     string `json:"model"`
		Limit     int64  `json:"max_completion_tokens"`
		MaxTokens int64  `json:"max_tokens"` // the older name
		Stream    bool   `json:"stream"`
		Tools     []struct {
			Type     string `json:"type"`
			Function Tool   `json:"function"`
			Custom   Tool   `json:"custom"`
		} `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, err
	}
	if len(head.Messages) == 0 {
		return nil, errors.New("messages: expected at least one")
	}
	c := &Call{Model: head.Model, Stream: head.Stream, MaxTokens: cmp.Or(head.Limit, head.MaxTokens)}
	for _, t := range head.Tools {
		c.Tools = append(c.Tools, Tool{function(t.Type), cmp.Or(t.Function.Name, t.Custom.Name)})
	}
	for _, raw := range head.Messages {
		c.Messages = append(c.Messages, ChatMessage(raw))
	}
	return c, nil
}

// function returns the type of a tool, in the form of [Tool].
func function(kind string) string {
	if kind == "function" {
		return ""
	}
	return kind
}

// ChatMessage reads a message of a chat completion. What cannot be read of it is left out.
func ChatMessage(raw json.RawMessage) llm.Message {
	var m llm.Message
	if json.Unmarshal(raw, &m) != nil {
		return llm.Message{Role: llm.RoleUser}
	}
	m.Chat, m.Extra = nil, nil
	m.Role = roleOf(m.Role)
	var details struct {
		List []struct{ Text, Signature, Data string } `json:"reasoning_details"`
	}
	if json.Unmarshal(raw, &details) == nil {
		var thoughts []llm.Part
		for _, d := range details.List {
			thoughts = append(thoughts, llm.Reasoning{Text: d.Text, Opaque: Opaque(cmp.Or(d.Signature, d.Data))})
		}
		m.Parts = append(thoughts, m.Parts...)
	}
	return m
}

// roleOf returns a role in the words of package llm; of one that it does not know, the user's.
func roleOf(role string) string {
	switch role {
	case "developer", llm.RoleSystem:
		return llm.RoleSystem
	case llm.RoleAssistant, llm.RoleTool:
		return role
	}
	return llm.RoleUser
}
