package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"batch.example/batch/vocab"
)

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
