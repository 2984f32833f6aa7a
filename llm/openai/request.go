package openai

import (
	"encoding/json"
	"fmt"
	"maps"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"batch.example/batch/llm"
)

// ephemeral is the mark of a cache breakpoint.
func ephemeral() map[string]any {
	return map[string]any{"cache_control": map[string]string{"type": "ephemeral"}}
}

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
		params.Messages[i] = p
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

func message(msg llm.Message, marked bool) (sdk.ChatCompletionMessageParamUnion, error) {
	switch msg.Role {
	case llm.RoleSystem:
		if marked {
			return sdk.SystemMessage([]sdk.ChatCompletionContentPartTextParam{markedPart(msg.Content)}), nil
		}
		return sdk.SystemMessage(msg.Content), nil
	case llm.RoleUser:
		if marked {
			part := markedPart(msg.Content)
			return sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{{OfText: &part}}), nil
		}
		return sdk.UserMessage(msg.Content), nil
	case llm.RoleTool:
		p := sdk.ToolMessage(msg.Content, msg.ToolCallID)
		if marked {
			p.OfTool.SetExtraFields(ephemeral())
		}
		return p, nil
	case llm.RoleAssistant:
		return assistant(msg)
	}
	return sdk.ChatCompletionMessageParamUnion{}, fmt.Errorf("role %q cannot be sent", msg.Role)
}

func markedPart(text string) sdk.ChatCompletionContentPartTextParam {
	part := sdk.ChatCompletionContentPartTextParam{Text: text}
	part.SetExtraFields(ephemeral())
	return part
}

// assistant sends the provider's own object where there is one.
func assistant(msg llm.Message) (sdk.ChatCompletionMessageParamUnion, error) {
	if msg.Raw != nil {
		if !json.Valid(msg.Raw) {
			return sdk.ChatCompletionMessageParamUnion{}, fmt.Errorf("the provider's message is not JSON")
		}
		return param.Override[sdk.ChatCompletionMessageParamUnion](msg.Raw), nil
	}
	p := &sdk.ChatCompletionAssistantMessageParam{}
	if msg.Content != "" || len(msg.ToolCalls) == 0 {
		p.Content.OfString = param.NewOpt(msg.Content)
	}
	for _, c := range msg.ToolCalls {
		p.ToolCalls = append(p.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID:       c.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: c.Arguments},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: p}, nil
}
