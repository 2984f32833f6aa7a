package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
)

// wire returns messages as they are sent, see [alternate].
func wire(messages []llm.Message, strict bool) (sent []llm.Message) {
	for _, m := range messages {
		sent = alternate(sent, m, strict)
	}
	return sent
}

// alternate appends a message to those that are sent. A message of the user after another one, such
// as the answer to an unusable reply after the task, becomes a part of that: the chat templates of
// Mistral and Gemma take only roles that alternate. Where roles are strict, one after the result of a
// tool becomes a part of the result, see [Turn.StrictRoles]. Each NUL is sent as U+FFFD, because servers
// refuse it.
func alternate(sent []llm.Message, m llm.Message, strict bool) []llm.Message {
	m = withoutNUL(m)
	last := len(sent) - 1
	if last < 0 || m.Role != llm.RoleUser {
		return append(sent, m)
	}
	one := sent[last]
	switch end := len(one.Parts) - 1; one.Role {
	case llm.RoleUser:
		one = llm.Message{Role: llm.RoleUser, Parts: joined(one.Parts, m.Parts)}
	case llm.RoleTool:
		result, ok := one.Parts[end].(llm.ToolResult)
		if !ok || !strict {
			return append(sent, m)
		}
		result.Parts = joined(result.Parts, m.Parts)
		one.Parts = append(slices.Clone(one.Parts[:end]), result)
	default:
		return append(sent, m)
	}
	return append(slices.Clone(sent[:last]), one) // the request before may still hold the other
}

// joined returns the parts of both. Plain texts that meet become one.
func joined(a, b []llm.Part) []llm.Part {
	if len(a) > 0 && len(b) > 0 {
		first, before := a[len(a)-1].(llm.Text)
		second, after := b[0].(llm.Text)
		if before && after && first.Opaque == (llm.Opaque{}) && second.Opaque == (llm.Opaque{}) {
			return slices.Concat(a[:len(a)-1], llm.Say(first.Text+llm.Between+second.Text), b[1:])
		}
	}
	return slices.Concat(a, b)
}

// withoutNUL returns m without NUL in its texts and in the arguments of its calls. What a provider
// wrote itself and sealed goes back as it is.
func withoutNUL(m llm.Message) llm.Message {
	if slices.ContainsFunc(m.Parts, hasNUL) {
		m.Parts = visibleParts(m.Parts)
	}
	var members map[string]json.RawMessage
	if !bytes.Contains(m.Chat, []byte("u0000")) || json.Unmarshal(m.Chat, &members) != nil {
		return m
	}
	for name, value := range members {
		switch name {
		case "reasoning_details": // may be signed
			continue
		case "tool_calls":
			value = replaced(inText(), value)
		}
		members[name] = replaced(escaped(), value)
	}
	m.Chat, _ = json.Marshal(members)
	return m
}

// escaped matches what is escaped in JSON, such as a NUL, and inText in JSON that is itself a text in
// JSON, as the arguments of a call are.
var (
	escaped = lazy.Regexp(`(?s)\\(u0000|.)`)
	inText  = lazy.Regexp(`(?s)\\\\(u0000|\\\\|.)`)
)

// replaced returns text with U+FFFD for each escaped NUL.
func replaced(escapes *regexp.Regexp, text []byte) []byte {
	return escapes.ReplaceAllFunc(text, func(escape []byte) []byte {
		return bytes.Replace(escape, []byte("u0000"), []byte("ufffd"), 1)
	})
}

func hasNUL(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Text:
		return strings.Contains(p.Text, nul)
	case llm.Reasoning:
		return strings.Contains(p.Text, nul)
	case llm.ToolCall:
		return strings.Contains(p.Arguments, nul) || strings.Contains(p.Arguments, "u0000")
	case llm.ToolResult:
		return slices.ContainsFunc(p.Parts, hasNUL)
	}
	return false
}

const nul = "\x00"

// visibleParts returns parts with U+FFFD for NUL.
func visibleParts(parts []llm.Part) []llm.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			p.Text = visible(p.Text)
			parts[i] = p
		case llm.Reasoning:
			p.Text = visible(p.Text)
			parts[i] = p
		case llm.ToolCall:
			p.Arguments = string(replaced(escaped(), []byte(visible(p.Arguments))))
			parts[i] = p
		case llm.ToolResult:
			p.Parts = visibleParts(p.Parts)
			parts[i] = p
		}
	}
	return parts
}

func visible(text string) string { return strings.ReplaceAll(text, nul, "\uFFFD") }

// digest is the running SHA-256 of a request: every field that a provider sees,
// each prefixed with its length. Its cost grows with the new message, not with the
// conversation.
type digest struct{ sum hash.Hash }

func newDigest(tools []llm.Tool) digest {
	d := digest{sha256.New()}
	for _, t := range tools {
		d.write(t.Name, t.Description, string(t.Parameters))
	}
	return d
}

func (d digest) add(m llm.Message) {
	d.write(m.Role, m.Text(), m.ToolCallID(), chatOf(m))
	for _, c := range m.ToolCalls() {
		d.write(c.ID, c.Name, c.Arguments)
	}
	if layout := m.Layout(); layout != nil {
		d.write(string(layout))
	}
}

// chatOf returns the provider's own members, in a form that is the same when the message is
// read from the journal: their order and spelling are lost there, and so are members that
// say only what the parts do.
func chatOf(m llm.Message) string {
	var own, plain map[string]any
	if m.Chat == nil || json.Unmarshal(m.Chat, &own) != nil {
		return string(m.Chat)
	}
	delete(own, "extra") // batch's
	if mayBePlain(own) {
		text, err := llm.Message{Role: m.Role, Parts: m.Parts}.MarshalJSON()
		if err == nil && json.Unmarshal(text, &plain) == nil && reflect.DeepEqual(own, plain) {
			return ""
		}
	}
	canonical, err := json.Marshal(own)
	if err != nil {
		return string(m.Chat) // cannot happen: it was read from JSON
	}
	return string(canonical)
}

// mayBePlain reports whether parts can express all members.
func mayBePlain(own map[string]any) bool {
	for name := range own {
		switch name {
		case "role", "content", "tool_calls", "tool_call_id":
		default:
			return false
		}
	}
	return true
}

func (d digest) write(fields ...string) {
	var size [8]byte
	for _, f := range fields {
		binary.LittleEndian.PutUint64(size[:], uint64(len(f)))
		d.sum.Write(size[:])
		_, _ = io.WriteString(d.sum, f)
	}
}

// String returns the digest so far in hexadecimal.
func (d digest) String() string { return hex.EncodeToString(d.sum.Sum(nil)) }
