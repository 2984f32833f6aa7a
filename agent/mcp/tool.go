package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"batch.example/batch/agent"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

const (
	maxName        = 64       // characters that all providers accept
	maxDescription = 4 << 10  // code points
	maxSchema      = 64 << 10 // bytes
)

// tools returns the server's tools as an agent has them. Their names differ from taken and are
// added to it.
func (c *client) tools(taken map[string]bool) []agent.Tool {
	var tools []agent.Tool
	for _, t := range c.list {
		name := toolName(c.Name, t.Name, taken)
		taken[name] = true
		tools = append(tools, agent.Tool{
			Tool:     llm.Tool{Name: name, Description: description(t), Parameters: schema(t)},
			Decode:   decode(name),
			Exact:    true,
			ReadOnly: func(agent.Call) bool { return isReadOnly(t) },
			Execute: func(ctx context.Context, _ agent.Environment, call agent.Call) (vocab.Output, error) {
				return c.call(ctx, t, call.Arguments)
			},
		})
	}
	return tools
}

// decode takes any JSON object: the server checks the arguments. The Command stays empty,
// so that a resumed run does not execute it in the container.
func decode(name string) func(map[string]any) (agent.Call, []string) {
	return func(args map[string]any) (agent.Call, []string) {
		if args == nil {
			return agent.Call{}, []string{fmt.Sprintf("The arguments of the %s tool must be a JSON object.", name)}
		}
		return agent.Call{Arguments: args}, nil
	}
}

// toolName returns a name that providers accept. Where that changes or shortens the tool's
// own name so that another tool has it, a part of its hash distinguishes the two.
func toolName(server, tool string, taken map[string]bool) string {
	name := server + separator + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, tool)
	if len(name) <= maxName && !taken[name] && tool != "" {
		return name
	}
	for hash := sha256.Sum256([]byte(tool)); ; hash = sha256.Sum256(hash[:]) {
		suffix := "_" + hex.EncodeToString(hash[:6])
		if short := name[:min(len(name), maxName-len(suffix))] + suffix; !taken[short] {
			return short
		}
	}
}

// isReadOnly reports whether the tool declares itself read-only. If it is not, calls of one
// reply run in another order than the model has written them in, or twice.
func isReadOnly(t *sdk.Tool) bool { return t.Annotations != nil && t.Annotations.ReadOnlyHint }

func description(t *sdk.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", ""))
	if runes := []rune(text); len(runes) > maxDescription {
		text = string(runes[:maxDescription]) + "..."
	}
	return text
}

// schema is the schema of the tool's arguments, which providers want to be of an object.
// Without a usable one, any object is allowed.
func schema(t *sdk.Tool) json.RawMessage {
	free := json.RawMessage(`{"type":"object","properties":{}}`)
	given, ok := t.InputSchema.(map[string]any)
	if !ok {
		return free
	}
	own := map[string]any{"properties": map[string]any{}}
	for k, v := range given {
		own[k] = v
	}
	own["type"] = "object"
	data, err := json.Marshal(own)
	if err != nil || len(data) > maxSchema {
		return free
	}
	return data
}

// outputLimit is the number of bytes of a result that are kept: the beginning and the end.
const outputLimit = 1 << 20

// output is a result as the output of a command.
func output(r *sdk.CallToolResult) vocab.Output {
	if len(r.InputRequests) > 0 {
		return text("The tool asks for input from a person, which it cannot get here.", 1)
	}
	var parts []string
	for _, content := range r.Content {
		if part := describe(content); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil { // it was JSON before
			parts = append(parts, string(data))
		}
	}
	code := 0
	if r.IsError {
		code = 1
	}
	return text(strings.Join(parts, "\n"), code)
}

// describe is one part of a result as text.
func describe(content sdk.Content) string {
	switch c := content.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[image, %q, %d bytes: not shown]", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[audio, %q, %d bytes: not shown]", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[resource %q, %q, %q: not shown]", c.URI, c.Name, c.MIMEType)
	case *sdk.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return ""
		case c.Resource.Text != "":
			return c.Resource.Text
		}
		return fmt.Sprintf("[resource %q, %q, %d bytes: not shown]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	default:
		return ""
	}
}

// text returns an output with that text, without its middle if it is too long.
func text(s string, code int) vocab.Output {
	out := vocab.Output{Total: int64(len(s)), ExitCode: code}
	if len(s) > outputLimit {
		s = s[:outputLimit/2] + s[len(s)-outputLimit/2:]
	}
	out.Bytes = []byte(s)
	return out
}

// failed returns the output of a call that has no result.
func failed(why string) vocab.Output { return vocab.Output{ExitCode: 1, Note: why} }
