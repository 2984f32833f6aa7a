package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// Roles of a content.
const (
	roleUser  = "user"
	roleModel = "model"
)

// unsigned is the signature that Google documents for calls of other models: from Gemini 3 on, the first call
// of a turn is refused without a signature.
const unsigned = "skip_thought_signature_validator"

type content struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

type wirePart struct {
	Text             *string           `json:"text,omitempty"`
	InlineData       *inlineData       `json:"inlineData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
}

type inlineData struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	Parts    []json.RawMessage `json:"parts,omitempty"`
}

// turn writes the i-th message, or all the results of a turn. It omits a content without parts, which the
// server refuses.
func (m *Model) turn(messages []llm.Message, i int) (history.Turn, error) {
	t := history.Turn{Messages: 1}
	var contents []content
	switch role := messages[i].Role; role {
	case llm.RoleSystem, llm.RoleUser:
		contents = []content{{roleUser, userParts(messages[i].Parts)}}
	case llm.RoleAssistant:
		parts, err := m.modelParts(messages[i].Parts)
		if err != nil {
			return t, err
		}
		contents = []content{{roleModel, parts}}
	case llm.RoleTool:
		for i+t.Messages < len(messages) && messages[i+t.Messages].Role == llm.RoleTool {
			t.Messages++
		}
		var calls []llm.ToolCall
		if i > 0 {
			calls = messages[i-1].ToolCalls()
		}
		contents = m.results(calls, messages[i:i+t.Messages])
	default:
		return t, fmt.Errorf("role %q cannot be sent", role)
	}
	for _, c := range contents {
		if len(c.Parts) > 0 {
			t.Items = append(t.Items, history.MustEncode(c))
		}
	}
	return t, nil
}

// userParts returns texts and images in the protocol's form, without empty texts, which are refused.
func userParts(parts []llm.Part) (list []json.RawMessage) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				list = append(list, textPart(p.Text))
			}
		case llm.Image:
			list = append(list, imagePart(p))
		case llm.ToolResult:
			list = append(list, userParts(p.Parts)...)
		}
	}
	return list
}

func textPart(text string) json.RawMessage { return history.MustEncode(wirePart{Text: &text}) }

func imagePart(p llm.Image) json.RawMessage {
	return history.MustEncode(wirePart{InlineData: &inlineData{p.MediaType, p.Data}})
}

// modelParts returns the parts of a reply, unchanged if their JSON was kept. It omits thoughts of another
// provider's model.
func (m *Model) modelParts(parts []llm.Part) (list []json.RawMessage, err error) {
	calls := 0
	for _, p := range parts {
		opaque, plain := llm.Opaque{}, json.RawMessage(nil)
		switch p := p.(type) {
		case llm.Text:
			if opaque = p.Opaque; p.Text != "" {
				plain = textPart(p.Text)
			}
		case llm.Reasoning:
			opaque = p.Opaque
		case llm.ToolCall:
			opaque = p.Opaque
			w := wirePart{FunctionCall: &functionCall{Name: p.Name, Args: arguments(p.Arguments)}}
			if calls++; calls == 1 && m.levels {
				w.ThoughtSignature = unsigned
			}
			plain = history.MustEncode(w)
		case llm.Image:
			plain = imagePart(p)
		}
		switch {
		case opaque.Provider == provider && !json.Valid([]byte(opaque.Data)):
			return nil, fmt.Errorf("a part that was kept is not JSON")
		case opaque.Provider == provider:
			list = append(list, json.RawMessage(opaque.Data))
		case plain != nil:
			list = append(list, plain)
		}
	}
	return list, nil
}

// arguments returns the arguments of another provider's model as an object. Malformed text becomes its only
// member.
func arguments(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // keeps their digits
	var members map[string]any
	if !json.Valid([]byte(text)) || d.Decode(&members) != nil || members == nil {
		members = map[string]any{"arguments": text}
	}
	return history.MustEncode(members)
}

// results returns the answers to a turn's calls: one part for each, in the order of the calls, by which the
// protocol matches calls without an id. A result without a call is sent as the user's text.
func (m *Model) results(calls []llm.ToolCall, messages []llm.Message) []content {
	answers := make([]json.RawMessage, len(calls))
	var images, said []json.RawMessage
	for _, msg := range messages {
		for _, p := range msg.Parts {
			r, ok := p.(llm.ToolResult)
			i := unanswered(calls, answers, r.CallID)
			if !ok || i < 0 {
				said = append(said, userParts([]llm.Part{p})...)
				continue
			}
			response := functionResponse{Name: calls[i].Name, Response: map[string]string{"output": llm.Message{Parts: r.Parts}.Text()}}
			response.ID = givenID(calls[i])
			for _, inner := range r.Parts {
				if image, ok := inner.(llm.Image); ok {
					response.Parts = append(response.Parts, imagePart(image))
				}
			}
			if !m.levels { // older models accept images only next to the results
				images, response.Parts = append(images, response.Parts...), nil
			}
			answers[i] = history.MustEncode(wirePart{FunctionResponse: &response})
		}
	}
	list := content{Role: roleUser}
	for _, a := range answers {
		if a != nil {
			list.Parts = append(list.Parts, a)
		}
	}
	return []content{list, {roleUser, images}, {roleUser, said}}
}

// unanswered returns the index of the first unanswered call with this id, otherwise of the first unanswered
// one; -1 if there is none.
func unanswered(calls []llm.ToolCall, answers []json.RawMessage, id string) int {
	first := -1
	for i, c := range calls {
		switch {
		case answers[i] != nil:
		case c.ID == id:
			return i
		case first < 0:
			first = i
		}
	}
	return first
}

// givenID returns the provider's own id of a call, whose id here may differ.
func givenID(c llm.ToolCall) string {
	if c.Opaque.Provider != provider {
		return ""
	}
	var p wirePart
	if json.Unmarshal([]byte(c.Opaque.Data), &p) != nil || p.FunctionCall == nil {
		return ""
	}
	return p.FunctionCall.ID
}

// compact returns raw without white space between its members.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
