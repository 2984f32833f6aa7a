package scripted

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// bashTool is the tool that every agent with tools offers.
const bashTool = "bash"

// fenced finds the commands in a text, in the current and the older form.
var fenced = lazy.Regexp("(?s)```(?:mswea_bash_command|bash)\\s*\n(.*?)\n```")

func fence(command string) string { return "```mswea_bash_command\n" + command + "\n```" }

// Fenced returns a reply with a command for a request without tools.
func (c Config) Fenced(command string) string {
	if c.Fence == nil {
		return fence(command)
	}
	return c.Fence(command)
}

// message renders the n-th reply in the form that the request accepts.
func (m *Model) message(r *Reply, n int, tools bool) llm.Message {
	if r.message != nil && !m.cfg.Convert {
		return *r.message
	}
	msg := llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(r.Content, r.ToolCalls...)}
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
		call := llm.ToolCall{Name: bashTool, Arguments: arguments(command)}
		msg.Parts = append(slices.Clip(msg.Parts), call)
	default:
		text := strings.TrimLeft(msg.Text()+"\n\n"+m.cfg.Fence(command), "\n")
		msg.Parts, msg.Chat = llm.Say(text, msg.ToolCalls()...), nil
	}
	return named(msg, n)
}

// convert takes out a command whose form does not fit the request, together with the provider's own message,
// which no longer fits.
func (m *Model) convert(msg *llm.Message, tools bool) string {
	calls, text := msg.ToolCalls(), msg.Text()
	if !tools && len(calls) == 1 && calls[0].Name == bashTool {
		var args struct{ Command string }
		if json.Unmarshal([]byte(calls[0].Arguments), &args) == nil && args.Command != "" {
			msg.Parts, msg.Chat = llm.Say(text), nil
			return args.Command
		}
	}
	if tools && len(calls) == 0 {
		if found := fenced().FindAllStringSubmatchIndex(text, 2); len(found) == 1 {
			at := found[0]
			msg.Parts, msg.Chat = llm.Say(strings.TrimSpace(text[:at[0]]+text[at[1]:])), nil
			return strings.TrimSpace(text[at[2]:at[3]])
		}
	}
	return ""
}

// named gives ids to calls without one, and leaves the script unchanged.
func named(msg llm.Message, n int) llm.Message {
	var ids []string
	missing := false
	for i, c := range msg.ToolCalls() {
		if c.ID == "" {
			c.ID, missing = "call_"+strconv.Itoa(n)+"_"+strconv.Itoa(i+1), true
		}
		ids = append(ids, c.ID)
	}
	if !missing {
		return msg
	}
	return msg.WithToolCallIDs(ids)
}

// arguments encodes a command as the bash tool's arguments, without escaping <, > and &.
func arguments(command string) string {
	return string(history.MustEncode(struct {
		Command string `json:"command"`
	}{command}))
}
