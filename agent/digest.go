package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"reflect"

	"batch.example/batch/llm"
)

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
