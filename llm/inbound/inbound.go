// Package inbound reads requests of the model providers' protocols, as programs write them: for the strict
// servers of llm/stub, which then check them, and for the gateway, which passes them on. It takes what it
// knows and leaves out the rest: an unknown block or member is no error.
//
// Its API is not promised to other programs: see package batch.
package inbound

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"batch.example/batch/llm"
)

// Call is what a server needs to know of a request.
type Call struct {
	Model     string
	Stream    bool
	MaxTokens int64 // of the answer; 0: the request does not say
	Tools     []Tool
	Unread    int           // bytes of the blocks that are in no message, such as documents
	Messages  []llm.Message // system text first; each result of a tool is a message of its own
}

// Tool is a tool that a request offers.
type Tool struct {
	Type string // empty: a function
	Name string
}

// Opaque wraps data that belongs to a part and that only its provider reads; the zero value for none.
func Opaque(data string) llm.Opaque {
	if data == "" {
		return llm.Opaque{}
	}
	return llm.Opaque{Provider: "inbound", Data: data}
}

// Block is a block of a message of Anthropic's Messages API.
type Block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	Thinking     string          `json:"thinking"`
	Signature    string          `json:"signature"`
	Data         string          `json:"data"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	Content      json.RawMessage `json:"content"`
	CacheControl json.RawMessage `json:"cache_control"`
	Source       struct {
		MediaType string          `json:"media_type"`
		Data      string          `json:"data"` // a document's may be text
		Content   json.RawMessage `json:"content"`
	} `json:"source"`
}

// Blocks reads content, which is a text or a list of blocks.
func Blocks(raw json.RawMessage) ([]Block, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []Block{{Type: "text", Text: text}}, nil
	}
	var blocks []Block
	err := json.Unmarshal(raw, &blocks)
	return blocks, err
}

// Part converts a block to a part without the forms of the protocol; nil for a block that has no such part.
func (b Block) Part() llm.Part {
	switch b.Type {
	case "text":
		return llm.Text{Text: b.Text}
	case "thinking":
		return llm.Reasoning{Text: b.Thinking, Opaque: Opaque(b.Signature)}
	case "redacted_thinking":
		return llm.Reasoning{Opaque: Opaque(b.Data)}
	case "tool_use":
		return llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)}
	case "image":
		data, _ := base64.StdEncoding.DecodeString(b.Source.Data) // the provider judges it
		return llm.Image{MediaType: b.Source.MediaType, Data: data}
	case "tool_result":
		result := llm.ToolResult{CallID: b.ToolUseID}
		inner, _ := Blocks(b.Content)
		for _, i := range inner {
			if i.Type == "tool_result" { // no result is in a result: reading a deep one would take time and memory
				continue
			}
			if p := i.Part(); p != nil {
				result.Parts = append(result.Parts, p)
			}
		}
		return result
	}
	return nil
}

// unread is the size of what Part leaves out.
func (b Block) unread() (n int) {
	switch b.Type {
	case "text", "thinking", "redacted_thinking", "tool_use", "image":
		return 0
	case "tool_result":
		inner, _ := Blocks(b.Content)
		for _, i := range inner {
			if i.Type == "tool_result" {
				n += len(i.Content)
			} else {
				n += i.unread()
			}
		}
		return n
	}
	return len(b.Source.Data) + len(b.Source.Content) + len(b.Content) + len(b.Input)
}

// Parts converts blocks to parts, without those that have none.
func Parts(blocks []Block) []llm.Part {
	var parts []llm.Part
	for _, b := range blocks {
		if p := b.Part(); p != nil {
			parts = append(parts, p)
		}
	}
	return parts
}

// Messages reads a request of Anthropic's Messages API. Its error names the member that is wrong.
func Messages(body []byte) (*Call, error) {
	var head struct {
		Model     string          `json:"model"`
		MaxTokens int64           `json:"max_tokens"`
		Stream    bool            `json:"stream"`
		Tools     []Tool          `json:"tools"`
		System    json.RawMessage `json:"system"`
		Messages  []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, err
	}
	c := &Call{Model: head.Model, Stream: head.Stream, MaxTokens: head.MaxTokens, Tools: head.Tools}
	if len(head.Messages) == 0 {
		return nil, errors.New("messages: expected at least one")
	}
	if len(head.System) > 0 {
		blocks, err := Blocks(head.System)
		if err != nil {
			return nil, fmt.Errorf("system: %w", err)
		}
		c.Messages = append(c.Messages, llm.Message{Role: llm.RoleSystem, Parts: Parts(blocks)})
	}
	for i, m := range head.Messages {
		blocks, err := Blocks(m.Content)
		if err != nil {
			return nil, fmt.Errorf("messages.%d.content: %w", i, err)
		}
		for _, b := range blocks {
			c.Unread += b.unread()
		}
		c.Messages = append(c.Messages, split(roleOf(m.Role), Parts(blocks))...)
	}
	return c, nil
}

// split returns a message as messages that each hold at most one result of a tool.
func split(role string, parts []llm.Part) (list []llm.Message) {
	rest := slices.Clone(parts)
	for i := 0; i < len(rest); {
		if result, ok := rest[i].(llm.ToolResult); ok {
			list = append(list, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{result}})
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		i++
	}
	if len(rest) > 0 || len(list) == 0 {
		list = append(list, llm.Message{Role: role, Parts: rest})
	}
	return list
}
