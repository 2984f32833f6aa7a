package gemini

import (
	"encoding/json"
	"maps"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// request writes req as JSON.
func (m *Model) request(req *llm.Request) (history.Body, error) {
	body, err := m.form.Text(req, req.Messages)
	return append(body, []byte("]}")), err
}

// head writes a request up to its contents.
func (m *Model) head(tools []llm.Tool, system []llm.Message) ([]byte, error) {
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

// continues reports whether both the last message of a turn and the next one are tool results: all results of
// a turn are one content.
func continues(turn []llm.Message, next llm.Message) bool {
	return turn[len(turn)-1].Role == llm.RoleTool && next.Role == llm.RoleTool
}
