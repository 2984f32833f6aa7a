package export

import (
	"encoding/json"
	"io"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/results/trajectory"
)

// shell is the name of the tool that runs a command.
const shell = "bash"

// line is a line of chat JSON Lines.
type line struct {
	Messages []message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`
	LossMask []int     `json:"loss_mask"`
	Metadata About     `json:"metadata"`
}

// message is a message in the form of chat completions.
type message struct {
	Role       string `json:"role"`
	Content    any    `json:"content"` // a string, or with images a list of parts
	Reasoning  string `json:"reasoning_content,omitempty"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	Name       string `json:"name,omitempty"` // of a tool's answer: the tool
	Weight     *int   `json:"weight,omitempty"`
}

type call struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledByName `json:"function"`
}

type calledByName struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Chat writes chat JSON Lines into file, replacing it.
func Chat(file string) Output {
	return func(fill func(add func(*attempt) error) error) error {
		err := atomicfile.Files{}.Write(file, 0o644, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetEscapeHTML(false)
			return fill(func(a *attempt) error {
				if a.unheard() {
					return nil
				}
				return e.Encode(a.line())
			})
		})
		return atomicfile.Fault("writing "+file, err)
	}
}

// unheard reports whether all replies were refused, so that the conversation has none.
func (a *attempt) unheard() bool { return a.about.Refused == a.about.Steps }

// line returns the attempt's conversation up to its last reply: later messages were never
// answered.
func (a *attempt) line() line {
	l := line{Messages: []message{}, LossMask: []int{}, Tools: a.tools, Metadata: a.about}
	names := map[string]string{} // tool by call
	end := 0
	for _, list := range a.chats[a.view.Begin:] {
		for _, c := range list {
			if c.Role == "exit" {
				continue
			}
			if !a.reasoning {
				c.Reasoning = ""
			}
			m, mask := messageOf(c, names), 0
			if c.Role == "assistant" {
				mask, end = 1, len(l.Messages)+1
				m.Weight = &mask
			}
			l.Messages, l.LossMask = append(l.Messages, m), append(l.LossMask, mask)
		}
	}
	l.Messages, l.LossMask = l.Messages[:end], l.LossMask[:end]
	return l
}

// part is a part of a content: a text or an image.
type part struct {
	Type  string            `json:"type"`
	Text  *string           `json:"text,omitempty"`
	Image map[string]string `json:"image_url,omitempty"`
}

func contentOf(c trajectory.Chat) any {
	if len(c.Images) == 0 {
		return c.Text
	}
	parts := []part{{Type: "text", Text: &c.Text}}
	for _, i := range c.Images {
		parts = append(parts, part{Type: "image_url", Image: map[string]string{"url": i.URL()}})
	}
	return parts
}

// messageOf converts a message, and notes the names of called tools by call. A message with a
// role that trainers do not know, or an answer without a call, becomes a user's message.
func messageOf(c trajectory.Chat, names map[string]string) message {
	m := message{Role: c.Role, Content: contentOf(c), Reasoning: c.Reasoning}
	name, called := names[c.CallID]
	switch {
	case c.Role == "tool" && called:
		m.ToolCallID, m.Name = c.CallID, name
	case c.Role == "developer": // a newer name
		m.Role = "system"
	case c.Role != "system" && c.Role != "assistant":
		m.Role = "user"
	}
	for _, t := range c.Calls {
		names[t.ID] = t.Name
		m.ToolCalls = append(m.ToolCalls, call{t.ID, "function", calledByName{t.Name, t.Arguments}})
	}
	return m
}
