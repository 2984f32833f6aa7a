package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"batch.example/batch/fault"
	"batch.example/batch/internal/python"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// matchLimit bounds a regular expression that backtracks without end.
const matchLimit = 5 * time.Second

// action is one command that a reply asks for.
type action struct {
	Call
	tool   *Tool
	id     string // of the tool call it answers; empty in the text form
	number int    // in the reply, from 1; 0 if it does not run
	early  *early // if it was executed before its turn
}

// Action is an action as the member "actions" of a message's extra has it. A map would take five
// times its memory, for each step of each agent.
type Action struct {
	Arguments any    `json:"arguments,omitempty"` // nil: the command says all
	Command   string `json:"command"`
	Tool      string `json:"tool,omitempty"` // with Arguments
	CallID    string `json:"tool_call_id,omitempty"`
}

func (a action) record() Action {
	r := Action{Command: a.Command, CallID: a.id}
	if a.Arguments != nil {
		r.Tool, r.Arguments = a.tool.Name, a.Arguments
	}
	return r
}

// execute runs the action in env, or with its tool's own Execute.
func (a action) execute(ctx context.Context, env Environment) (vocab.Output, error) {
	if a.tool.Execute == nil {
		return env.Execute(ctx, a.Command)
	}
	out, err := a.tool.Execute(ctx, env, a.Call)
	if err == nil || ctx.Err() != nil || fault.Canceled(err) || errors.Is(err, vocab.ErrDestroyed) {
		return out, err
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return out, err
	}
	text := fmt.Sprintf("Tool %s error: %v", a.tool.Name, err)
	return vocab.Output{Bytes: []byte(text), Total: int64(len(text)), ExitCode: 1, Duration: out.Duration}, nil
}

// badForm says why a reply does not have the required form.
type badForm struct {
	problem string
	actions []string // what was found, in the text form
	text    bool
}

func (b *badForm) Error() string { return b.problem }

// form reads the actions of replies. It is safe for concurrent use.
type form struct {
	kind  FormKind
	table []Tool     // the tools that can be called; the first also reads the text form
	tools []llm.Tool // the table as it is offered to the model
	regex *regexp2.Regexp
	group int
}

func newForm(c ActionForm) (*form, error) {
	var ask []Tool
	if c.Ask {
		ask = []Tool{AskTool()}
	}
	switch c.Kind {
	case ToolCall:
		return newToolForm(c.Kind, append([]Tool{BashTool()}, ask...)...)
	case Tools:
		if len(c.Tools) > 0 {
			return newToolForm(c.Kind, slices.Concat(c.Tools, ask)...)
		}
		return newToolForm(c.Kind, append([]Tool{BashTool(), editor(c.Pictures)}, ask...)...)
	case Text:
		if c.Ask {
			return nil, fault.Newf(fault.Usage, "agent.ask needs an action form with tools: in the form text, no reply calls one")
		}
		return newTextForm(c.Regex)
	default:
		return nil, fault.Newf(fault.Bug, "unknown action form %d", c.Kind)
	}
}

// newToolForm refuses a table in which a name is empty or used twice.
func newToolForm(kind FormKind, table ...Tool) (*form, error) {
	f := &form{kind: kind, table: table}
	for _, t := range table {
		known := slices.ContainsFunc(f.tools, func(other llm.Tool) bool { return other.Name == t.Name })
		if t.Name == "" || t.Decode == nil || known {
			return nil, fault.Newf(fault.Bug, "tool %q needs a unique name and a Decode function", t.Name)
		}
		f.tools = append(f.tools, t.Tool)
	}
	return f, nil
}

// with returns the form with more tools, which only one run has.
func (f *form) with(tools []Tool) (*form, error) {
	switch {
	case len(tools) == 0:
		return f, nil
	case f.kind == Text:
		return nil, fault.Newf(fault.Usage, "the action form text has no tools, but %d more were given", len(tools))
	}
	return newToolForm(f.kind, slices.Concat(f.table, tools)...)
}

func newTextForm(pattern string) (*form, error) {
	if pattern == "" {
		pattern = DefaultRegex
	}
	// Python names a group (?P<x>...), this engine (?<x>...).
	re, err := regexp2.Compile(strings.ReplaceAll(pattern, "(?P<", "(?<"), regexp2.Singleline)
	if err != nil {
		return nil, fault.New(fault.Usage, fmt.Sprintf("reading action_regex %q", pattern), err)
	}
	groups := len(re.GetGroupNumbers()) - 1
	if groups > 1 {
		return nil, fault.Newf(fault.Usage, "reading action_regex %q: it has %d groups, expected at most one around the command", pattern, groups)
	}
	re.MatchTimeout = matchLimit
	return &form{kind: Text, table: []Tool{BashTool()}, regex: re, group: groups}, nil
}

// parse returns the reply's actions, at least one, or a *badForm. One bad
// call makes the whole reply bad, so that nothing of it runs.
func (f *form) parse(m llm.Message) ([]action, error) {
	if f.kind == Text {
		return f.parseText(m.Text())
	}
	calls := m.ToolCalls()
	if len(calls) == 0 {
		return nil, noCalls()
	}
	actions := make([]action, 0, len(calls))
	for _, c := range calls {
		a, err := f.parseCall(c)
		if err != nil {
			return nil, err
		}
		actions = append(actions, a)
	}
	return actions, nil
}

// parseText finds what Python's re.findall with DOTALL finds, stripped.
func (f *form) parseText(content string) ([]action, error) {
	var found []string
	m, err := f.regex.FindStringMatch(content)
	for ; err == nil && m != nil; m, err = f.regex.FindNextMatch(m) {
		found = append(found, python.Strip(m.GroupByNumber(f.group).String()))
	}
	switch {
	case err != nil:
		return nil, &badForm{problem: "Looking for the action in the reply took too long.", text: true}
	case len(found) != 1:
		return nil, notOne(found)
	case strings.ContainsRune(found[0], 0):
		return nil, &badForm{"The command holds a NUL character.", found, true}
	}
	return []action{{Call: Call{Command: found[0]}, tool: &f.table[0]}}, nil
}

func noCalls() *badForm {
	return &badForm{problem: "No tool calls found in the reply. Call a tool at least once in every reply."}
}

func notOne(found []string) *badForm {
	return &badForm{fmt.Sprintf("Expected exactly 1 action, found %d.", len(found)), found, true}
}

// cut is the error of a reply that was cut off after actions that can be read: the last of
// them may not be all that the model wanted to write, as rm -rf /a of rm -rf /a/b.
func (f *form) cut(reason string, actions []action) *badForm {
	b := &badForm{
		problem: fmt.Sprintf("The reply was cut off (finish reason %q), so nothing in it was executed. Write shorter replies: split a long command or file into several steps.", reason),
		text:    f.kind == Text,
	}
	if b.text {
		for _, a := range actions {
			b.actions = append(b.actions, a.Command)
		}
	}
	return b
}
