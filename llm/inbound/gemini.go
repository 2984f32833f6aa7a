package inbound

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"batch.example/batch/llm"
)

// Gemini reads a request of Google's Gemini API, whose model and whether it streams are in its path and not
// here. Its error names the member that is wrong.
func Gemini(body []byte) (*Call, error) {
	var head struct {
		Contents []json.RawMessage            `json:"contents"`
		System   *Content                     `json:"systemInstruction"`
		System2  *Content                     `json:"system_instruction"` // the API takes both spellings
		Config   geminiConfig                 `json:"generationConfig"`
		Config2  geminiConfig                 `json:"generation_config"`
		Tools    []map[string]json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, err
	}
	if len(head.Contents) == 0 {
		return nil, errors.New("contents: expected at least one")
	}
	c := &Call{MaxTokens: cmp.Or(head.Config.Limit, head.Config.Limit2, head.Config2.Limit, head.Config2.Limit2)}
	for _, t := range head.Tools {
		c.Tools = append(c.Tools, geminiTools(t)...)
	}
	if system := cmp.Or(head.System, head.System2); system != nil {
		c.Messages = append(c.Messages, llm.Message{Role: llm.RoleSystem, Parts: system.parts()})
	}
	for i, raw := range head.Contents {
		var content Content
		if err := json.Unmarshal(raw, &content); err != nil {
			return nil, fmt.Errorf("contents.%d: %w", i, err)
		}
		c.Messages = append(c.Messages, split(cmp.Or(content.role(), llm.RoleUser), content.parts())...)
	}
	return c, nil
}

type geminiConfig struct {
	Limit  int64 `json:"maxOutputTokens"`
	Limit2 int64 `json:"max_output_tokens"`
}

// geminiTools returns the functions of a tool; any other tool is one of its own.
func geminiTools(tool map[string]json.RawMessage) (list []Tool) {
	for name, raw := range tool {
		if name != "functionDeclarations" && name != "function_declarations" {
			list = append(list, Tool{Type: name})
			continue
		}
		var functions []struct{ Name string }
		_ = json.Unmarshal(raw, &functions)
		for _, f := range functions {
			list = append(list, Tool{Name: f.Name})
		}
	}
	return list
}

// Content is an element of the contents of a request of the Gemini API.
type Content struct {
	Role  string        `json:"role"`
	Parts []ContentPart `json:"parts"`
}

// Message returns the content as one message, whose results of tools stay together. Its role is empty if the
// API has no such role.
func (c Content) Message() llm.Message { return llm.Message{Role: c.role(), Parts: c.parts()} }

func (c Content) role() string {
	return map[string]string{"model": llm.RoleAssistant, "user": llm.RoleUser, "": llm.RoleUser, "function": llm.RoleUser}[c.Role]
}

func (c Content) parts() (list []llm.Part) {
	for _, p := range c.Parts {
		if p := p.part(); p != nil {
			list = append(list, p)
		}
	}
	return list
}

// ContentPart is a part of a [Content].
type ContentPart struct {
	Text         *string `json:"text"`
	Thought      bool    `json:"thought"`
	Signature    string  `json:"thoughtSignature"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
	InlineData *struct {
		MimeType string `json:"mimeType"`
		Data     []byte `json:"data"`
	} `json:"inlineData"`
}

// part converts a part to one without the forms of the protocol; nil for a part that has no such form.
func (p ContentPart) part() llm.Part {
	switch {
	case p.FunctionCall != nil:
		f := p.FunctionCall
		return llm.ToolCall{ID: f.ID, Name: f.Name, Arguments: string(f.Args), Opaque: Opaque(p.Signature)}
	case p.FunctionResponse != nil:
		return llm.ToolResult{CallID: p.FunctionResponse.ID, Parts: llm.Say(string(p.FunctionResponse.Response))}
	case p.InlineData != nil:
		return llm.Image{MediaType: p.InlineData.MimeType, Data: p.InlineData.Data}
	case p.Text != nil && p.Thought:
		return llm.Reasoning{Text: *p.Text, Opaque: Opaque(p.Signature)}
	case p.Text != nil:
		return llm.Text{Text: *p.Text, Opaque: Opaque(p.Signature)}
	}
	return nil
}
