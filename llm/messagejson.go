package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// MarshalJSON writes the message in the form of journals and trajectories, which is also that of OpenAI's
// chat completions: the provider's own members if the message already has that form, otherwise role, content,
// tool_calls and tool_call_id; and "extra" if it is not empty. extra.parts has what those members cannot
// express (the order of parts, reasoning, opaque data, images).
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Chat != nil {
		return m.marshalChat()
	}
	w := wireMessage{Role: m.Role, Content: m.Text(), ToolCallID: m.ToolCallID(), Extra: m.Extra}
	for _, c := range m.ToolCalls() {
		w.ToolCalls = append(w.ToolCalls, toWire(c))
	}
	if layout := m.Layout(); layout != nil {
		w.Extra = maps.Clone(m.Extra)
		if w.Extra == nil {
			w.Extra = map[string]any{}
		}
		w.Extra[partsMember] = layout
	}
	return encode(w)
}

// marshalChat writes the provider's members, sorted by their names, and extra.
func (m Message) marshalChat() ([]byte, error) {
	var chat bytes.Buffer
	chat.Grow(len(m.Chat))
	if err := json.Compact(&chat, m.Chat); err != nil {
		return nil, fmt.Errorf("reading the provider's message: %w", err)
	}
	list, err := membersOf(chat.Bytes())
	if err != nil {
		return nil, fmt.Errorf("reading the provider's message: %w", err)
	}
	list = slices.DeleteFunc(list, func(m member) bool { return m.name == "extra" })
	size := len(m.Chat)
	if len(m.Extra) > 0 {
		extra, err := encode(m.Extra)
		if err != nil {
			return nil, err
		}
		list, size = append(list, member{"extra", `"extra"`, string(extra)}), size+len(extra)+len(`,"extra":`)
	}
	slices.SortFunc(list, func(a, b member) int { return strings.Compare(a.name, b.name) })
	out := append(make([]byte, 0, size), '{')
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.written...), ':'), m.value...)
	}
	return append(out, '}'), nil
}

// member is a member of a JSON object, with its decoded and its original name.
type member struct{ name, written, value string }

// membersOf returns the members of a JSON object, in order; of duplicate names the last. Null has no members.
func membersOf(object []byte) (list []member, err error) {
	all := gjson.ParseBytes(object)
	if !all.IsObject() && all.Type != gjson.Null {
		return nil, errors.New("the message is not an object")
	}
	all.ForEach(func(name, value gjson.Result) bool {
		m := member{name.Str, name.Raw, value.Raw}
		if i := slices.IndexFunc(list, func(other member) bool { return other.name == m.name }); i >= 0 {
			list[i] = m
		} else {
			list = append(list, m)
		}
		return true
	})
	return list, nil
}

// encode is json.Marshal without escaping <, > and &, as in mini-swe-agent. An outer encoder escapes them
// unless told otherwise.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON reads the output of MarshalJSON, and the messages of other tools' trajectories: content may
// be null, a string or a list of text parts, and the arguments of a tool call may be text or plain JSON.
// Member names are exact. An assistant's members are kept in Chat if they express more than the parts.
func (m *Message) UnmarshalJSON(data []byte) error {
	read, err := AsWritten(data)
	if err != nil {
		return err
	}
	if read.Chat != nil {
		plain := Message{Role: read.Role, Parts: read.Parts}
		if text, err := plain.MarshalJSON(); err == nil && sameJSON(text, read.Chat) {
			read.Chat = nil
		}
	}
	*m = read
	return nil
}

func sameJSON(a, b []byte) bool {
	var members [2]map[string]any
	return json.Unmarshal(a, &members[0]) == nil && json.Unmarshal(b, &members[1]) == nil &&
		reflect.DeepEqual(members[0], members[1])
}

// AsWritten reads a message like UnmarshalJSON, but always keeps an assistant's members, so that it is
// written and sent again unchanged. Only a message that MarshalJSON wrote for another protocol has no such
// members.
func AsWritten(data []byte) (Message, error) {
	m, laidOut, err := read(data)
	if err != nil || laidOut || m.Role != RoleAssistant {
		return m, err
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(data, &own); err != nil {
		return m, err
	}
	delete(own, "extra")
	m.Chat, err = json.Marshal(own)
	return m, err
}

// Understood reads a message like AsWritten, without its Chat.
func Understood(data []byte) (Message, error) {
	m, _, err := read(data)
	return m, err
}

// read reads a message without its Chat. laidOut means that MarshalJSON wrote it for another
// protocol.
func read(data []byte) (m Message, laidOut bool, err error) {
	if !json.Valid(data) {
		return m, false, json.Unmarshal(data, &m.Extra)
	}
	list, err := membersOf(data)
	if err != nil {
		return m, false, err
	}
	var calls []wireToolCall
	var id string
	var rawContent, rawExtra json.RawMessage
	for _, member := range list {
		var into any
		switch member.name {
		case "role":
			into = &m.Role
		case "tool_calls":
			into = &calls
		case "tool_call_id":
			into = &id
		case "extra":
			rawExtra, into = json.RawMessage(member.value), &m.Extra
		case "content":
			rawContent = json.RawMessage(member.value)
			continue
		default:
			continue
		}
		if err := json.Unmarshal([]byte(member.value), into); err != nil {
			return m, false, fmt.Errorf("reading a message's %s: %w", member.name, err)
		}
	}
	content, err := contentText(rawContent)
	if err != nil {
		return m, false, err
	}
	read := standard{content: content, id: id}
	for _, c := range calls {
		read.calls = append(read.calls, ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: string(c.Function.Arguments)})
	}
	parts, laidOut := read.arrange(rawExtra)
	if laidOut {
		m.Parts = parts
		delete(m.Extra, partsMember)
	} else {
		m.Parts = read.parts(m.Role)
	}
	if len(m.Extra) == 0 {
		m.Extra = nil
	}
	return m, laidOut, nil
}

// standard holds the members that all tools know.
type standard struct {
	content, id string
	calls       []ToolCall
}

// parts returns the parts that the members express without extra.parts.
func (s standard) parts(role string) []Part {
	if role != RoleTool || s.id == "" && s.content == "" {
		return Say(s.content, s.calls...)
	}
	return append([]Part{ToolResult{CallID: s.id, Parts: Say(s.content)}}, Say("", s.calls...)...)
}

type wireMessage struct {
	Role       string         `json:"role"`
	Content    string         `json:"content"`
	ToolCalls  []wireToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	Extra      map[string]any `json:"extra,omitempty"`
}

type wireToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string       `json:"name"`
		Arguments argumentText `json:"arguments"`
	} `json:"function"`
}

// argumentText is JSON in a string, as in OpenAI's protocol; some servers and tools write the JSON itself
// instead.
type argumentText string

func (a *argumentText) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		*a = argumentText(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

func toWire(c ToolCall) wireToolCall {
	w := wireToolCall{ID: c.ID, Type: "function"}
	w.Function.Name, w.Function.Arguments = c.Name, argumentText(c.Arguments)
	return w
}

// contentText joins the text parts of a message's content.
func contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if raw[0] == '"' {
		err := json.Unmarshal(raw, &text)
		return text, err
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("content is neither text nor a list of parts: %w", err)
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, nil
}
