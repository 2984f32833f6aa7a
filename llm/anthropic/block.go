package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

// Kinds of content blocks that have a part of their own. All others are kept verbatim.
const (
	kindText     = "text"
	kindThinking = "thinking"
	kindToolUse  = "tool_use"
)

// block is a content block of a request.
type block struct {
	text   []byte // its JSON
	result bool   // a tool result, which must come first
	marks  bool   // may be marked as a cache breakpoint
}

// side returns the role of a message in the API; "" if there is none. A system prompt behind others is the user's.
func side(role string) string {
	switch role {
	case llm.RoleSystem, llm.RoleUser, llm.RoleTool:
		return llm.RoleUser
	case llm.RoleAssistant:
		return llm.RoleAssistant
	}
	return ""
}

// blocks encodes the parts that are sent.
func blocks(parts []llm.Part) (list []block) {
	for _, p := range parts {
		if sends(p) {
			list = append(list, encodePart(p))
		}
	}
	return list
}

// sends reports whether a part is sent: not if another provider sealed its data, or if it is a text of only
// white space, which the API refuses.
func sends(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Text:
		_, ok := sealed(p.Opaque)
		return ok || strings.TrimSpace(p.Text) != ""
	case llm.Reasoning:
		_, ok := sealed(p.Opaque)
		return ok
	}
	return true
}

func encodePart(p llm.Part) block {
	switch p := p.(type) {
	case llm.Text:
		own, _ := sealed(p.Opaque)
		return block{text: own.with("type", quote(kindText)).with("text", quote(p.Text)).end(), marks: true}
	case llm.Reasoning:
		own, _ := sealed(p.Opaque)
		if own.kind() == kindThinking {
			own = own.with("thinking", quote(p.Text))
		}
		return block{text: own.end()}
	case llm.ToolCall:
		own, _ := sealed(p.Opaque)
		text := own.with("type", quote(kindToolUse)).with("id", quote(callID(p.ID))).with("name", quote(toolName(p.Name))).
			with("input", input(p.Arguments)).end()
		return block{text: text, marks: true}
	case llm.ToolResult:
		b := object{}.with("type", quote("tool_result")).with("tool_use_id", quote(callID(p.CallID)))
		if content := resultContent(p.Parts); content != nil {
			b = b.with("content", content)
		}
		return block{text: b.end(), result: true, marks: true}
	case llm.Image:
		source := object{}.with("type", quote("base64")).with("media_type", quote(p.MediaType)).
			with("data", quote(base64.StdEncoding.EncodeToString(p.Data))).end()
		return block{text: object{}.with("type", quote("image")).with("source", source).end(), marks: true}
	}
	return block{}
}

// resultContent encodes a result's parts as a text, a list of blocks, or nothing.
func resultContent(parts []llm.Part) []byte {
	var list [][]byte
	for _, b := range blocks(parts) {
		list = append(list, b.text)
	}
	switch {
	case list == nil:
		return nil
	case len(list) == len(parts) && len(parts) == 1:
		if text, ok := parts[0].(llm.Text); ok {
			return quote(text.Text)
		}
	}
	return array(list)
}

func array(list [][]byte) []byte {
	text := append([]byte("["), bytes.Join(list, []byte(","))...)
	return append(text, ']')
}

// invalid is the member in which input that is not an object is sent back, as Anthropic's documentation says.
const invalid = "INVALID_JSON"

// input returns the arguments as the model wrote them; if they are not an object, it wraps them in one.
func input(arguments string) []byte {
	text := bytes.TrimSpace([]byte(arguments))
	switch {
	case len(text) == 0:
		return []byte("{}")
	case isObject(text):
		return text
	}
	return object{}.with(invalid, quote(arguments)).end()
}

// arguments reverses input.
func arguments(input json.RawMessage) string {
	if members := endpoint.Members(input); len(members) == 1 {
		if text, ok := word(members[invalid]); ok && !isObject([]byte(text)) {
			return text
		}
	}
	if text, ok := word(input); ok && isObject([]byte(text)) { // some servers write it as text
		return text
	}
	return string(input)
}

func isObject(text []byte) bool {
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

// callID returns an id with only the characters that the API accepts. Anthropic's own ids do not change.
func callID(id string) string { return escape(id, 0) }

// toolName returns a tool's name, perhaps made up by a model, with only the characters that the API accepts.
func toolName(name string) string { return escape(name, 128) }

// escape replaces each character other than a letter, digit, _ or - by its code, and truncates at limit.
func escape(s string, limit int) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	s = b.String()
	if limit > 0 && len(s) > limit {
		s = s[:limit]
	}
	if s == "" {
		return "_"
	}
	return s
}

// object is a JSON object under construction.
type object struct {
	text    []byte // without the last brace; nil for {
	members map[string]json.RawMessage
}

// sealed returns the block, or the part of one, that this provider stored in o.
func sealed(o llm.Opaque) (object, bool) {
	if o.Provider != provider {
		return object{}, false
	}
	members := endpoint.Members(json.RawMessage(o.Data))
	if members == nil {
		return object{}, false
	}
	text := strings.TrimSpace(o.Data)
	return object{text: []byte(text[:len(text)-len("}")]), members: members}, true
}

func (o object) kind() string {
	kind, _ := word(o.members["type"])
	return kind
}

// with adds a member unless one with this name exists.
func (o object) with(name string, value []byte) object {
	if _, ok := o.members[name]; ok {
		return o
	}
	if o.text == nil {
		o.text = append(o.text, '{')
	}
	if last := bytes.TrimSpace(o.text); len(last) > 1 {
		o.text = append(o.text, ',')
	}
	o.text = append(append(append(o.text, quote(name)...), ':'), value...)
	return o
}

func (o object) end() []byte { return append(o.text, '}') }

// write returns an object with the members, sorted by name, each in its original text.
func write(members map[string]json.RawMessage) []byte {
	o := object{text: []byte{'{'}}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		o = o.with(name, members[name])
	}
	return o.end()
}

// word returns the content of a JSON string, and false for any other value.
func word(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

func quote(s string) []byte { return history.MustEncode(s) }
