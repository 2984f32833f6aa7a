package scripted

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/llm"
)

// bashTool is the tool that every agent with tools offers.
const bashTool = "bash"

// fenced finds the commands in a text, in today's and the older form.
var fenced = regexp.MustCompile("(?s)```(?:mswea_bash_command|bash)\\s*\n(.*?)\n```")

func fence(command string) string { return "```mswea_bash_command\n" + command + "\n```" }

// message renders the n-th reply in the form that the request can take.
func (m *Model) message(r *Reply, n int, tools bool) llm.Message {
	if r.message != nil && !m.cfg.Convert {
		return *r.message
	}
	msg := llm.Message{Role: llm.RoleAssistant, Content: r.Content, ToolCalls: r.ToolCalls}
	command := r.Bash
	if r.message != nil {
		msg = *r.message
	}
	if m.cfg.Convert && command == "" {
		command = m.convert(&msg, tools)
	}
	switch {
	case command == "":
	case tools:
		msg.ToolCalls = append(slices.Clip(msg.ToolCalls), llm.ToolCall{Name: bashTool, Arguments: arguments(command)})
	default:
		msg.Content = strings.TrimLeft(msg.Content+"\n\n"+m.cfg.Fence(command), "\n")
	}
	nameCalls(&msg, n)
	return msg
}

// convert takes the command out of the form that does not fit the request.
// What the provider wrote no longer fits then, and goes too.
func (m *Model) convert(msg *llm.Message, tools bool) string {
	if !tools && len(msg.ToolCalls) == 1 && msg.ToolCalls[0].Name == bashTool {
		var args struct{ Command string }
		if json.Unmarshal([]byte(msg.ToolCalls[0].Arguments), &args) == nil && args.Command != "" {
			msg.ToolCalls, msg.Raw = nil, nil
			return args.Command
		}
	}
	if tools && len(msg.ToolCalls) == 0 {
		if found := fenced.FindAllStringSubmatchIndex(msg.Content, 2); len(found) == 1 {
			at := found[0]
			command := strings.TrimSpace(msg.Content[at[2]:at[3]])
			msg.Content = strings.TrimSpace(msg.Content[:at[0]] + msg.Content[at[1]:])
			msg.Raw = nil
			return command
		}
	}
	return ""
}

// nameCalls gives the calls that have none an id, without touching the script.
func nameCalls(msg *llm.Message, n int) {
	missing := func(c llm.ToolCall) bool { return c.ID == "" }
	if !slices.ContainsFunc(msg.ToolCalls, missing) {
		return
	}
	msg.ToolCalls = slices.Clone(msg.ToolCalls)
	for i := range msg.ToolCalls {
		if msg.ToolCalls[i].ID == "" {
			msg.ToolCalls[i].ID = "call_" + strconv.Itoa(n) + "_" + strconv.Itoa(i+1)
		}
	}
}

// arguments encodes a command as the bash tool's arguments, and leaves <, >
// and & readable.
func arguments(command string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(struct {
		Command string `json:"command"`
	}{command}); err != nil {
		panic(err) // a struct of text can always be written
	}
	return strings.TrimSuffix(b.String(), "\n")
}
