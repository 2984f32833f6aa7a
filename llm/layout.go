package llm

import (
	"bytes"
	"encoding/json"
	"slices"
)

// partsMember is the member of extra for messages that the standard members cannot express: all parts in
// order. A tool call there omits the data in tool_calls, and a text that is the whole content omits its
// words.
const partsMember = "parts"

// layoutPart is a part as extra.parts has it.
type layoutPart struct {
	Type      string       `json:"type"`
	Text      *string      `json:"text,omitempty"`
	CallID    *string      `json:"tool_call_id,omitempty"`
	MediaType string       `json:"media_type,omitempty"`
	Data      []byte       `json:"data,omitempty"`
	Opaque    *Opaque      `json:"opaque,omitempty"`
	Parts     []layoutPart `json:"parts,omitempty"`
}

// Layout returns extra.parts for a message that its standard members cannot express; nil if they can, or if
// the provider's own members are used.
func (m Message) Layout() json.RawMessage {
	if m.Chat != nil || m.isStandard() {
		return nil
	}
	return mustEncode(describe(m.Parts, texts(m.Parts) == 1))
}

// isStandard reports whether the standard members express all of m's parts.
func (m Message) isStandard() bool {
	rest := m.Parts
	if len(rest) == 0 {
		return true
	}
	if r, ok := rest[0].(ToolResult); ok && m.Role == RoleTool && len(r.Parts) <= 1 && (len(r.Parts) == 0 || isBare(r.Parts[0])) {
		rest = rest[1:]
	} else if m.Role != RoleTool && isBare(rest[0]) {
		rest = rest[1:]
	}
	return !slices.ContainsFunc(rest, func(p Part) bool {
		c, ok := p.(ToolCall)
		return !ok || c.Opaque != Opaque{}
	})
}

// isBare reports whether p is a text and nothing else.
func isBare(p Part) bool {
	t, ok := p.(Text)
	return ok && t.Opaque == Opaque{}
}

// isNone reports whether p is empty.
func isNone(p Part) bool { return p == Part(Text{}) }

// texts counts the texts in parts.
func texts(parts []Part) (n int) {
	for _, p := range parts {
		switch p := p.(type) {
		case Text:
			if !isNone(p) {
				n++
			}
		case ToolResult:
			n += texts(p.Parts)
		}
	}
	return n
}

// describe returns the layout of parts; whole means that their only text is the content.
func describe(parts []Part, whole bool) (list []layoutPart) {
	for _, p := range parts {
		l := layoutPart{}
		switch p := p.(type) {
		case Text:
			if isNone(p) {
				continue
			}
			if l = (layoutPart{Type: "text", Opaque: p.Opaque.set()}); !whole {
				l.Text = &p.Text
			}
		case Reasoning:
			l = layoutPart{Type: "reasoning", Text: &p.Text, Opaque: p.Opaque.set()}
		case ToolCall:
			l = layoutPart{Type: "tool_call", Opaque: p.Opaque.set()}
		case Image:
			l = layoutPart{Type: "image", MediaType: p.MediaType, Data: p.Data}
		case ToolResult:
			l = layoutPart{Type: "tool_result", CallID: &p.CallID, Parts: describe(p.Parts, whole)}
		}
		list = append(list, l)
	}
	return list
}

func (o Opaque) set() *Opaque {
	if o == (Opaque{}) {
		return nil
	}
	return &o
}

// arrange returns the parts that extra describes, completed from the other members. It returns false if extra
// does not describe them, or belongs to another tool.
func (s standard) arrange(extra json.RawMessage) ([]Part, bool) {
	if !bytes.Contains(extra, []byte(`"`+partsMember+`"`)) { // a quick check for the usual case
		return nil, false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(extra, &members) != nil {
		return nil, false
	}
	var list []layoutPart
	d := json.NewDecoder(bytes.NewReader(members[partsMember]))
	d.DisallowUnknownFields()
	if d.Decode(&list) != nil || len(list) == 0 {
		return nil, false
	}
	parts, ok := s.take(list, true)
	return parts, ok && len(s.calls) == 0
}

// take builds the parts of list and consumes their tool calls.
func (s *standard) take(list []layoutPart, top bool) ([]Part, bool) {
	var parts []Part
	for _, l := range list {
		var opaque Opaque
		if l.Opaque != nil {
			opaque = *l.Opaque
		}
		switch {
		case l.Type == "text":
			t := Text{Text: s.content, Opaque: opaque}
			if l.Text != nil {
				t.Text = *l.Text
			}
			if !isNone(t) {
				parts = append(parts, t)
			}
		case l.Type == "image":
			if len(l.Data) == 0 {
				l.Data = nil
			}
			parts = append(parts, Image{MediaType: l.MediaType, Data: l.Data})
		case top && l.Type == "reasoning" && l.Text != nil:
			parts = append(parts, Reasoning{Text: *l.Text, Opaque: opaque})
		case top && l.Type == "tool_call" && len(s.calls) > 0:
			c := s.calls[0]
			c.Opaque, s.calls = opaque, s.calls[1:]
			parts = append(parts, c)
		case top && l.Type == "tool_result" && l.CallID != nil:
			inner, ok := s.take(l.Parts, false)
			if !ok {
				return nil, false
			}
			parts = append(parts, ToolResult{CallID: *l.CallID, Parts: inner})
		default:
			return nil, false
		}
	}
	return parts, true
}
