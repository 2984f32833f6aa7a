package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Names of the built-in tools.
const (
	bashTool   = "bash"
	editorTool = "editor"
)

// Tool is a row of the table of tools that a reply may call: what the model is
// offered, how a call is read, and how it is executed. It is safe for concurrent use.
type Tool struct {
	llm.Tool

	// Decode reads a call's arguments; those that are not a JSON object come as nil.
	// The problems are all that is wrong with them, in sentences for the model.
	Decode func(args map[string]any) (c Call, problems []string)

	// Execute does what Decode read, under the promises of [Environment.Execute].
	// Nil executes the Command in the environment.
	Execute func(ctx context.Context, env Environment, c Call) (vocab.Output, error)

	// Submits says that an output may hand in a submission.
	Submits bool
}

// Call is one call of a tool, decoded.
type Call struct {
	// Command stands in the journal and the trajectory. When a run is resumed in a
	// fresh environment it is executed there again; an empty one is not.
	Command string

	// Arguments stand in the trajectory beside the command; nil where it says all.
	Arguments map[string]any
}

// BashTool runs a command. It is worded as mini-swe-agent's: a model is to see
// the same tool.
func BashTool() Tool {
	return Tool{
		Tool: llm.Tool{
			Name:        bashTool,
			Description: "Execute a bash command",
			Parameters: json.RawMessage(`{"type":"object","properties":{"command":` +
				`{"type":"string","description":"The bash command to execute"}},"required":["command"]}`),
		},
		Decode: func(args map[string]any) (c Call, problems []string) {
			command, problem := stringArgument(args, "command", bashTool, true)
			if problem != "" {
				problems = []string{problem}
			}
			return Call{Command: command}, problems
		},
		Submits: true,
	}
}

// EditorTool views, creates and changes files by commands in the environment,
// which needs bash and coreutils for it.
func EditorTool() Tool {
	return Tool{
		Tool: llm.Tool{
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
		},
		Decode: func(args map[string]any) (Call, []string) {
			e, problems := readEdit(args)
			if len(problems) > 0 {
				return Call{}, problems
			}
			return Call{Command: e.script(), Arguments: args}, nil
		},
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
	i := slices.IndexFunc(f.table, func(t Tool) bool { return t.Name == c.Name })
	if i < 0 {
		problems = append(problems, fmt.Sprintf("Unknown tool '%s'.", c.Name))
		i = 0 // what that one would lack is said too
	}
	call, more := f.table[i].Decode(args)
	if problems = append(problems, more...); len(problems) > 0 {
		return action{}, &badForm{problem: strings.Join(problems, " ")}
	}
	return action{Call: call, tool: &f.table[i], id: c.ID}, nil
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
