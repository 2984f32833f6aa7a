package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Names of the built-in tools.
const (
	bashTool   = "bash"
	editorTool = "editor"
	askTool    = "ask"
)

// Tool is a tool that a reply may call: its description for the model, how a call is
// read, and how it is executed. It is safe for concurrent use.
type Tool struct {
	llm.Tool

	// Decode reads a call's arguments; it gets nil if they are not a JSON object.
	// The problems are everything that is wrong with them, as sentences for the model.
	Decode func(args map[string]any) (c Call, problems []string)

	// Exact gives Decode each number as the [json.Number] that was written, for a tool that
	// passes its arguments on.
	Exact bool

	// Execute executes the decoded call, with the guarantees of [Environment.Execute].
	// But an error that is neither a fault, nor [vocab.ErrDestroyed], nor a cancellation is
	// the tool's: the model is shown it as the output. Nil executes the Command in the
	// environment.
	Execute func(ctx context.Context, env Environment, c Call) (vocab.Output, error)

	// ReadOnly reports whether a call changes nothing, so that it may run twice, and at the
	// same time as others of its reply; nil: no call. Execute then gets an Environment that
	// is safe for concurrent use.
	ReadOnly func(c Call) bool

	// Submits allows an output of the tool to be a submission.
	Submits bool

	// Asks is for a tool that is not executed: a call of it ends the run with the status
	// InputRequired, and the argument question is the [Ending]'s. What a person says in the
	// next Turn is the call's result.
	Asks bool
}

// Call is one call of a tool, decoded.
type Call struct {
	// Command is recorded in the journal and the trajectory. If a run is resumed in a
	// new environment, it is executed there again, unless it is empty.
	Command string

	// Arguments are recorded in the trajectory in addition to the command; nil if the
	// command says everything.
	Arguments map[string]any
}

// BashTool runs a command. It has mini-swe-agent's description, so that the model sees the
// same tool.
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

// AskTool asks a person, who answers in the next [Turn].
func AskTool() Tool {
	return Tool{
		Tool: llm.Tool{
			Name: askTool,
			Description: "Ask the person that you work for, and wait for the answer. Calls after it in the same reply are not executed. " +
				"Use it only for what you cannot find out or decide yourself.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"question":` +
				`{"type":"string","description":"What you want to know"}},"required":["question"]}`),
		},
		Decode: func(args map[string]any) (c Call, problems []string) {
			question, problem := stringArgument(args, "question", askTool, true)
			switch {
			case problem != "":
				problems = []string{problem}
			case strings.TrimSpace(question) == "":
				problems = []string{"Argument 'question' of the ask tool is empty."}
			}
			return Call{Arguments: args}, problems
		},
		Asks: true,
	}
}

// EditorTool views, creates and changes files with commands in the environment, which
// must have bash and coreutils.
func EditorTool() Tool { return editor(false) }

func editor(pictures bool) Tool {
	return Tool{
		Tool: llm.Tool{
			Name: editorTool,
			Description: "View, create and change files. view shows a file with line numbers, or lists a directory; " +
				"create writes a whole file; str_replace replaces old_str, which must occur exactly once, by new_str; " +
				"insert inserts insert_text as whole lines; undo takes back the last create, str_replace or insert of the file.",
			Parameters: json.RawMessage(`{"type":"object","properties":{` +
				`"command":{"type":"string","enum":["view","create","str_replace","insert","undo"],"description":"What to do"},` +
				`"path":{"type":"string","description":"The file or directory"},` +
				`"view_range":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2,` +
				`"description":"Of view: first and last line, counted from 1; a last line of -1 is the end"},` +
				`"file_text":{"type":"string","description":"Of create: the whole content"},` +
				`"old_str":{"type":"string","description":"Of str_replace: the exact text to replace"},` +
				`"new_str":{"type":"string","description":"Of str_replace: the new text; empty deletes"},` +
				`"insert_line":{"type":"integer","description":"Of insert: the line after which the text is inserted; 0 is the beginning"},` +
				`"insert_text":{"type":"string","description":"Of insert: the lines to insert"}},` +
				`"required":["command","path"]}`),
		},
		Decode: func(args map[string]any) (Call, []string) {
			e, problems := readEdit(args)
			if len(problems) > 0 {
				return Call{}, problems
			}
			e.pictures = pictures
			return Call{Command: e.script(), Arguments: args}, nil
		},
		ReadOnly: func(c Call) bool { return c.Arguments["command"] == "view" },
	}
}

// parseCall reads one tool call. The error lists everything that is wrong with it.
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
		if len(f.table) > 1 { // the model may have meant any of them
			return action{}, badCall(problems)
		}
		i = 0 // also report what is missing for that tool, as mini-swe-agent does
	}
	if f.table[i].Exact && args != nil {
		exact := json.NewDecoder(strings.NewReader(c.Arguments))
		exact.UseNumber()
		args = nil
		_ = exact.Decode(&args) // it is an object
	}
	call, more := f.table[i].Decode(args)
	if problems = append(problems, more...); len(problems) > 0 {
		return action{}, badCall(problems)
	}
	return action{Call: call, tool: &f.table[i], id: c.ID}, nil
}

func badCall(problems []string) *badForm { return &badForm{problem: strings.Join(problems, " ")} }

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

// identified returns the reply of a step with a unique id for each tool call. If an id is
// missing, or is already in the conversation, a provider cannot know which call an answer
// belongs to. The same conversation and reply always give the same ids, and unique ids
// are not changed.
func (r *run) identified(resp *llm.Response, step int) *llm.Response {
	calls := resp.Message.ToolCalls()
	given := map[string]int{} // id to the first call that has it
	for i, c := range calls {
		if _, again := given[c.ID]; !again && c.ID != "" && !r.callIDs[c.ID] {
			given[c.ID] = i
		}
	}
	if len(given) == len(calls) {
		return resp
	}
	ids := make([]string, len(calls))
	made := map[string]bool{}
	for i, c := range calls {
		ids[i] = c.ID
		if first, ok := given[c.ID]; ok && first == i {
			continue
		}
		ids[i] = newCallID(c.ID, step, i+1, func(id string) bool {
			_, taken := given[id]
			return taken || made[id] || r.callIDs[id]
		})
		made[ids[i]] = true
	}
	own := *resp
	own.Message = resp.Message.WithToolCallIDs(ids)
	return &own
}

// numbered matches an id that counts calls, as Kimi models write and read them.
var numbered = lazy.Regexp(`^(.+:)([0-9]{1,9})$`)

// newCallID returns an id that is not taken, to replace old. An id that counts calls is
// replaced by the next number; every other id has nine letters and digits, which even the
// strictest providers accept (Mistral).
func newCallID(old string, step, n int, taken func(string) bool) string {
	next := func() string { n++; return fmt.Sprintf("s%05dc%02d", step, n-1) }
	if m := numbered().FindStringSubmatch(old); m != nil {
		count, _ := strconv.Atoi(m[2])
		next = func() string { count++; return m[1] + strconv.Itoa(count) }
	}
	id := next()
	for taken(id) {
		id = next()
	}
	return id
}
