package trajectory

import (
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/python"
)

// replyIn returns the message in a provider's answer, in the provider's form: a message of
// chat completions, Gemini's content, or the whole answer for Anthropic and the Responses
// API.
func replyIn(response gjson.Result) gjson.Result {
	for _, path := range []string{"choices.0.message", "candidates.0.content"} {
		if m := response.Get(path); m.Exists() {
			return m
		}
	}
	return response
}

// callsIn returns the tool calls in a provider's own message, each with its arguments.
func callsIn(m gjson.Result) (calls []string) {
	for _, path := range []string{"tool_calls.#.function", "parts.#.functionCall", `content.#(type=="tool_use")#`, `output.#(type=="function_call")#`} {
		for _, c := range m.Get(path).Array() {
			arguments := oneLine(c.Get("arguments")) + oneLine(c.Get("args")) + oneLine(c.Get("input"))
			calls = append(calls, c.Get("name").String()+" "+arguments)
		}
	}
	return calls
}

// textOf returns a message's text: a string, or the texts of its parts.
func textOf(m gjson.Result) string {
	if out := m.Get("output"); out.Exists() {
		if out.Type == gjson.String {
			return out.String()
		}
		var texts []string
		for _, item := range out.Array() {
			if item.Get("type").String() == "message" {
				texts = append(texts, partsOf(item.Get("content")))
			}
		}
		return strings.Join(texts, "\n")
	}
	if parts := m.Get("parts"); parts.IsArray() {
		return partsOf(parts)
	}
	return partsOf(m.Get("content"))
}

func partsOf(content gjson.Result) string {
	if !content.IsArray() {
		return content.String()
	}
	var texts []string
	for _, part := range content.Array() {
		switch kind := part.Get("type").String(); kind {
		case "thinking", "reasoning", "redacted_thinking":
		case "image", "image_url", "input_image":
			texts = append(texts, "[image]")
		default:
			if text := part.Get("text"); text.Exists() && !part.Get("thought").Bool() {
				texts = append(texts, text.String())
			}
		}
	}
	return strings.Join(texts, "\n")
}

// reasoningOf returns the readable part of a model's reasoning.
func reasoningOf(m gjson.Result) string {
	for _, name := range []string{"reasoning_content", "reasoning", "provider_specific_fields.reasoning_content"} {
		if text := m.Get(name); text.Type == gjson.String && text.String() != "" {
			return text.String()
		}
	}
	var texts []string
	add := func(text gjson.Result) {
		if text.String() != "" {
			texts = append(texts, text.String())
		}
	}
	for _, path := range []string{"content", "thinking_blocks", "parts", "extra.parts"} {
		if !m.Get(path).IsArray() {
			continue
		}
		for _, part := range m.Get(path).Array() {
			add(part.Get("thinking"))
			if part.Get("type").String() == "reasoning" || part.Get("thought").Bool() {
				add(part.Get("text"))
			}
		}
	}
	for _, item := range m.Get("output").Array() {
		if item.Get("type").String() == "reasoning" {
			for _, part := range item.Get("summary").Array() {
				add(part.Get("text"))
			}
		}
	}
	return strings.Join(texts, "\n")
}

// actionsOf returns a reply's commands: the ones that the agent noted, or without any the
// fenced code in its text, as in early versions of mini-swe-agent.
func actionsOf(reply, extra gjson.Result, text string) []Action {
	actions := commandsOf(reply, extra, text)
	for i := range actions {
		actions[i].Number, actions[i].State = i+1, Unknown
	}
	return actions
}

func commandsOf(reply, extra gjson.Result, text string) []Action {
	var actions []Action
	for _, a := range extra.Get("actions").Array() {
		action := Action{Command: a.Get("command").String(), id: a.Get("tool_call_id").String()}
		if a.Type == gjson.String {
			action.Command = a.String()
		}
		if tool := a.Get("tool").String(); tool != "" && action.Command == "" {
			action.Tool, action.Command = tool, argumentsOf(a.Get("arguments"))
		}
		actions = append(actions, action)
	}
	if extra.Get("actions").Exists() {
		return actions
	}
	for _, c := range reply.Get("tool_calls").Array() {
		arguments := gjson.Parse(c.Get("function.arguments").String())
		action := Action{Command: arguments.Get("command").String(), id: c.Get("id").String()}
		if name := c.Get("function.name").String(); name != "bash" {
			action.Tool, action.Command = name, argumentsOf(arguments)
		}
		actions = append(actions, action)
	}
	if actions == nil {
		for _, fence := range []string{"```mswea_bash_command\n", "```bash\n"} {
			if _, rest, found := strings.Cut(text, fence); found {
				command, _, _ := strings.Cut(rest, "\n```")
				return []Action{{Command: command}}
			}
		}
	}
	return actions
}

// argumentsOf returns a tool call's arguments, one "name: value" a line.
func argumentsOf(arguments gjson.Result) string {
	if !arguments.IsObject() {
		return oneLine(arguments)
	}
	var lines []string
	arguments.ForEach(func(name, value gjson.Result) bool {
		text := oneLine(value)
		if strings.Contains(text, "\n") {
			text = "\n" + text
		}
		lines = append(lines, name.String()+": "+text)
		return true
	})
	return strings.Join(lines, "\n")
}

var jsonString = lazy.Regexp(`"(?:[^"\\]|\\.)*"`)

// oneLine returns a value as text: a string's content, or an object or a list as JSON on
// one line. File and journal may have it in different forms.
func oneLine(v gjson.Result) string {
	if !v.IsObject() && !v.IsArray() {
		return v.String()
	}
	return jsonString().ReplaceAllStringFunc(v.Get("@ugly").Raw, func(quoted string) string {
		text, _ := python.Compact(gjson.Parse(quoted).String()) //nolint:errcheck // a string
		return string(text)
	})
}

// WithoutCommand removes a command from a reply's text, with the fence or the tag around it.
func WithoutCommand(text, command string) string {
	trimmed := strings.TrimSpace(command)
	at := strings.Index(text, trimmed)
	if trimmed == "" || at < 0 {
		return strings.TrimSpace(text)
	}
	before, after := text[:at], text[at+len(trimmed):]
	open := strings.LastIndex(strings.TrimRight(before, " \t\n"), "\n") + 1
	line := strings.TrimSpace(before[open:])
	rest := strings.TrimLeft(after, " \t\n")
	switch {
	case strings.HasPrefix(line, "```") && strings.HasPrefix(rest, "```"):
		return strings.TrimSpace(strings.TrimSpace(before[:open]) + "\n\n" + strings.TrimSpace(rest[3:]))
	case strings.HasSuffix(line, ">") && strings.HasPrefix(rest, "</"):
		if tag := strings.LastIndex(before, "<"); tag >= 0 {
			_, rest, _ = strings.Cut(rest, ">")
			return strings.TrimSpace(strings.TrimSpace(before[:tag]) + "\n\n" + strings.TrimSpace(rest))
		}
	}
	return strings.TrimSpace(text)
}
