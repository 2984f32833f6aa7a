package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"batch.example/batch/llm"
)

// ephemeral is the mark of a cache breakpoint.
var ephemeral = map[string]string{"type": "ephemeral"}

func (m *Model) params(req *llm.Request) (sdk.ChatCompletionNewParams, error) {
	params := sdk.ChatCompletionNewParams{
		Model:    m.cfg.Model,
		Messages: make([]sdk.ChatCompletionMessageParamUnion, len(req.Messages)),
	}
	for i, msg := range req.Messages {
		marked := m.cfg.CacheControl == CacheControlEnd && i == len(req.Messages)-1
		p, err := message(msg, marked)
		if err != nil {
			return params, fmt.Errorf("message %d: %w", i, err)
		}
		params.Messages[i] = param.Override[sdk.ChatCompletionMessageParamUnion](p)
	}
	for _, t := range req.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		if err := json.Unmarshal(t.Parameters, &f.Parameters); len(t.Parameters) > 0 && err != nil {
			return params, fmt.Errorf("parameters of tool %s: %w", t.Name, err)
		}
		params.Tools = append(params.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	params.SetExtraFields(m.body(len(req.Tools) > 0))
	return params, nil
}

// body returns the request members of the config that fit the request.
func (m *Model) body(tools bool) map[string]any {
	if tools {
		return m.kwargs.body
	}
	body := maps.Clone(m.kwargs.body)
	for _, key := range toolsOnly {
		delete(body, key)
	}
	return body
}

// wireMessage is a message in the protocol's form.
type wireMessage struct {
	Role         string            `json:"role"`
	Content      any               `json:"content,omitempty"` // a string or a []wirePart
	ToolCalls    []wireCall        `json:"tool_calls,omitempty"`
	ToolCallID   string            `json:"tool_call_id,omitempty"`
	CacheControl map[string]string `json:"cache_control,omitempty"`
}

type wirePart struct {
	Type         string            `json:"type"`
	Text         *string           `json:"text,omitempty"`
	ImageURL     map[string]string `json:"image_url,omitempty"`
	CacheControl map[string]string `json:"cache_control,omitempty"`
}

type wireCall struct {
	ID       string            `json:"id"`
	Type     string            `json:"type"`
	Function map[string]string `json:"function"`
}

// message encodes msg: the provider's own object where there is one. What
// another protocol's provider has sealed in its parts stays behind.
func message(msg llm.Message, marked bool) (json.RawMessage, error) {
	w := wireMessage{Role: msg.Role}
	switch msg.Role {
	case llm.RoleSystem, llm.RoleUser:
		w.Content = content(msg.Parts, marked)
	case llm.RoleTool:
		w.ToolCallID, w.Content = msg.ToolCallID(), content(msg.Parts, false)
		if marked {
			w.CacheControl = ephemeral
		}
	case llm.RoleAssistant:
		if msg.Chat != nil {
			if !json.Valid(msg.Chat) {
				return nil, fmt.Errorf("the provider's message is not JSON")
			}
			return msg.Chat, nil
		}
		for _, c := range msg.ToolCalls() {
			f := map[string]string{"name": c.Name, "arguments": c.Arguments}
			w.ToolCalls = append(w.ToolCalls, wireCall{c.ID, "function", f})
		}
		if text := msg.Text(); text != "" || w.ToolCalls == nil {
			w.Content = text
		}
	default:
		return nil, fmt.Errorf("role %q cannot be sent", msg.Role)
	}
	return json.Marshal(w)
}

// content is the text of parts; a list where there are images in it, or a mark on its end.
func content(parts []llm.Part, marked bool) any {
	list, images := wireParts(parts)
	if !images && !marked {
		return llm.Message{Parts: parts}.Text()
	}
	if len(list) == 0 {
		list = []wirePart{{Type: "text", Text: new(string)}}
	}
	if marked {
		list[len(list)-1].CacheControl = ephemeral
	}
	return list
}

func wireParts(parts []llm.Part) (list []wirePart, images bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			list = append(list, wirePart{Type: "text", Text: &p.Text})
		case llm.Image:
			url := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
			list, images = append(list, wirePart{Type: "image_url", ImageURL: map[string]string{"url": url}}), true
		case llm.ToolResult:
			inner, some := wireParts(p.Parts)
			list, images = append(list, inner...), images || some
		}
	}
	return list, images
}
