// Package history encodes the requests of a conversation. As conversations usually only grow, each request is
// the previous one with a few messages added: the encoded messages are kept in the conversation's memo, and
// only new ones are encoded. Only the transport still copies the request.
package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"

	"batch.example/batch/llm"
)

// Form says how a model writes a request, whose last member is the list of messages. It is safe for
// concurrent use; its fields must not be changed.
type Form struct {
	// Head returns a request up to and including the bracket that opens the list.
	Head func(tools []llm.Tool) ([]byte, error)

	// Items returns a message as elements of the list. They must depend only on the message, because they are
	// kept.
	Items func(msg llm.Message) ([]json.RawMessage, error)
}

// Text returns a request up to the end of messages, which are the first messages of req. The caller must not
// change its pieces, but may append others.
func (f *Form) Text(req *llm.Request, messages []llm.Message) (Body, error) {
	d, err := f.draft(req)
	if err != nil {
		return nil, err
	}
	if err := d.hold(messages); err != nil {
		return nil, err
	}
	return slices.Clone(d.text), nil
}

// Append adds the i-th message to the list at the end of text or of the piece before it.
func (f *Form) Append(text []byte, i int, msg llm.Message) ([]byte, error) {
	items, err := f.Items(msg)
	if err != nil {
		return nil, fmt.Errorf("message %d: %w", i, err)
	}
	for _, item := range items {
		if len(text) == 0 || text[len(text)-1] != '[' {
			text = append(text, ',')
		}
		text = append(text, item...)
	}
	return text, nil
}

// draft returns the kept draft of req's conversation if it matches, otherwise a new one.
func (f *Form) draft(req *llm.Request) (*draft, error) {
	if req.Memo != nil {
		if d, ok := req.Memo.Kept.(*draft); ok && d.form == f && Same(d.tools, req.Tools) {
			return d, nil
		}
	}
	head, err := f.Head(req.Tools)
	if err != nil {
		return nil, err
	}
	d := &draft{form: f, tools: req.Tools, text: Body{head}}
	if req.Memo != nil {
		req.Memo.Kept = d
	}
	return d, nil
}

// pieceSize is the size at which a piece of a draft is complete, in bytes. A piece is copied and has spare
// room while messages are appended; one piece for a long conversation would make both expensive.
const pieceSize = 16 << 10

// draft is a request up to the end of its messages. Earlier requests made from it may still be read, so bytes
// in its pieces never change.
type draft struct {
	form     *Form
	tools    []llm.Tool
	messages []llm.Message
	starts   []place // place of each message in text
	text     Body    // messages are appended to the last piece
}

// place is a position in a draft's text.
type place struct{ piece, at int }

// hold updates the draft to messages.
func (d *draft) hold(messages []llm.Message) error {
	known := Shared(d.messages, messages)
	if known < len(d.messages) {
		end := d.starts[known]
		d.text = append(slices.Clone(d.text[:end.piece]), slices.Clone(d.text[end.piece][:end.at]))
		d.messages, d.starts = d.messages[:known], d.starts[:known]
	}
	for i, msg := range messages[known:] {
		last := d.last()
		start := place{last, len(d.text[last])}
		text, err := d.form.Append(d.text[last], known+i, msg)
		if err != nil {
			return err
		}
		d.messages, d.starts, d.text[last] = append(d.messages, msg), append(d.starts, start), text
	}
	return nil
}

// last returns the number of the piece for the next message. A piece that is long enough gives up its spare
// room.
func (d *draft) last() int {
	last := len(d.text) - 1
	if text := d.text[last]; len(text) >= pieceSize && text[len(text)-1] != '[' {
		d.text[last] = slices.Clone(text)
		d.text = append(d.text, nil)
		last++
	}
	return last
}

// Shared returns the number of messages at the beginning of before and now that are the same, see
// [Unchanged].
func Shared(before, now []llm.Message) int {
	n := 0
	for n < min(len(before), len(now)) && Unchanged(before[n], now[n]) {
		n++
	}
	return n
}

// Unchanged reports whether a and b are the same message: it compares the addresses of their parts, which
// never change.
func Unchanged(a, b llm.Message) bool {
	return a.Role == b.Role && Same(a.Parts, b.Parts) && Same(a.Chat, b.Chat)
}

// Same reports whether a and b have the same elements in memory.
func Same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Body is the JSON of a request, in pieces that must not be changed.
type Body [][]byte

// Reader returns a reader of the whole body. There may be several.
func (b Body) Reader() *Pieces { return &Pieces{net.Buffers(slices.Clone(b))} } // reading consumes them

// Pieces reads a body, or writes it to a connection with one system call.
type Pieces struct{ net.Buffers }

// Len returns how many bytes are left.
func (p *Pieces) Len() (n int64) {
	for _, piece := range p.Buffers {
		n += int64(len(piece))
	}
	return n
}

// Close implements [io.Closer].
func (*Pieces) Close() error { return nil }

// Attach makes b the body of r, with its length, because otherwise it would be sent in chunks, and lets r be
// sent again.
func (b Body) Attach(r *http.Request) {
	body := b.Reader()
	r.Body, r.ContentLength = body, body.Len()
	r.GetBody = func() (io.ReadCloser, error) { return b.Reader(), nil }
}

// Encode is json.Marshal without escaping <, > and &.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// MustEncode is Encode for values that cannot fail: text, and values that were decoded before.
func MustEncode(v any) json.RawMessage {
	text, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return text
}
