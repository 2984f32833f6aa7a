package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"

	"batch.example/batch/llm"
)

// digest is the running SHA-256 of a request: every field a provider sees,
// each with its length in front. It costs what a message adds, not what the
// conversation holds.
type digest struct{ sum hash.Hash }

func newDigest(tools []llm.Tool) digest {
	d := digest{sha256.New()}
	for _, t := range tools {
		d.write(t.Name, t.Description, string(t.Parameters))
	}
	return d
}

func (d digest) add(m llm.Message) {
	d.write(m.Role, m.Text(), m.ToolCallID(), string(m.Chat))
	for _, c := range m.ToolCalls() {
		d.write(c.ID, c.Name, c.Arguments)
	}
	if layout := m.Layout(); layout != nil {
		d.write(string(layout))
	}
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
