package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"batch.example/batch/llm"
)

const (
	bashTool   = "bash"
	editorTool = "editor"
)

// bashSchema is worded as the peer's: a model is to see the same tool.
func bashSchema() llm.Tool {
	return llm.Tool{
		Name:        bashTool,
		Description: "Execute a bash command",
		Parameters: json.RawMessage(`{"type":"object","properties":{"command":` +
			`{"type":"string","description":"The bash command to execute"}},"required":["command"]}`),
	}
}

func editorSchema() llm.Tool {
	return llm.Tool{
		Name: editorTool,
		Description: "View, create and change files. view shows a file with line numbers, or lists a directory; " +
			"create writes a whole file; str_replace replaces old_str, which must occur exactly once, by new_str.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string","enum":["view","create","str_replace"],"description":"What to do"},` +
			`"path":{"type":"string","description":"The file or directory"},` +
			`"view_range":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2,` +
			`"description":"Of view: first and last line, counted from 1; a last line of -1 is the end"},` +
			`"file_text":{"type":"string","description":"Of create: the whole content"},` +
			`"old_str":{"type":"string","description":"Of str_replace: the exact text to replace"},` +
			`"new_str":{"type":"string","description":"Of str_replace: the new text; empty deletes"}},` +
			`"required":["command","path"]}`),
	}
}

// parseCall reads one tool call. All that is wrong with it is in the error.
func (f *form) parseCall(c llm.ToolCall) (action, error) {
	var problems []string
	var value any
	if err := json.Unmarshal([]byte(c.Arguments), &value); err != nil {
		problems = append(problems, fmt.Sprintf("Error parsing tool call arguments: %v.", err))
	}
	args, _ := value.(map[string]any) // anything else lacks every argument
	known := c.Name == bashTool || f.kind == Tools && c.Name == editorTool
	if !known {
		problems = append(problems, fmt.Sprintf("Unknown tool '%s'.", c.Name))
	}
	if c.Name == editorTool && known {
		return editorAction(c.ID, args, problems)
	}
	command, problem := stringArgument(args, "command", bashTool, true)
	if problem != "" {
		problems = append(problems, problem)
	}
	if len(problems) > 0 {
		return action{}, &badForm{problem: strings.Join(problems, " ")}
	}
	return action{command: command, call: c.ID}, nil
}

func editorAction(id string, args map[string]any, problems []string) (action, error) {
	e, more := readEdit(args)
	if problems = append(problems, more...); len(problems) > 0 {
		return action{}, &badForm{problem: strings.Join(problems, " ")}
	}
	return action{command: e.script(), call: id, editor: args}, nil
}

// stringArgument returns the argument called name, or what is wrong with it.
func stringArgument(args map[string]any, name, tool string, required bool) (value, problem string) {
	v, ok := args[name]
	if !ok {
		if required {
			return "", fmt.Sprintf("Missing '%s' argument in %s tool call.", name, tool)
		}
		return "", ""
	}
	value, ok = v.(string)
	switch {
	case !ok:
		return "", fmt.Sprintf("Argument '%s' of the %s tool must be a string.", name, tool)
	case strings.ContainsRune(value, 0):
		return "", fmt.Sprintf("Argument '%s' of the %s tool holds a NUL character.", name, tool)
	}
	return value, ""
}
