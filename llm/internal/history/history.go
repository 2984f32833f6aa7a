// Package history encodes the requests of a conversation. A conversation only grows, as
// a rule, so that each request is the one before it with a few messages added: what was
// encoded for a request is kept in the conversation's memo, and only what is new since
// then is encoded. The copying that is left is the transport's.
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

// Form says how a model writes a request. Its last member is the list of messages.
// It is safe for concurrent use; its fields must not be changed.
type Form struct {
	// Head returns a request up to and including the bracket that opens the list.
	Head func(tools []llm.Tool) ([]byte, error)

	// Items returns the elements of the list that a message becomes. They must depend on
	// nothing else, as they are kept.
	Items func(msg llm.Message) ([]json.RawMessage, error)
}

// Text returns a request up to the end of messages, which are the first of req's. The
// caller must not change its pieces, but may append others.
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

// Append adds what the i-th message becomes to a list that text, or the piece before it, ends in.
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

// draft returns what is kept of req's conversation, as far as it fits.
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

// pieceSize is how long a piece of a draft becomes, in bytes. While messages are appended, it is
// copied, and has room for more: the whole of a long conversation would cost both each time.
const pieceSize = 16 << 10

// draft is a request up to the end of its messages. An earlier one that was made of
// it may still be read: what is in its pieces stays.
type draft struct {
	form     *Form
	tools    []llm.Tool
	messages []llm.Message
	starts   []place // of each message in text
	text     Body    // messages are appended to the last piece
}

// place is a place in a draft's text.
type place struct{ piece, at int }

// hold makes the draft end with messages.
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

// last returns the number of the piece for the next message. A piece that is long enough gives up
// the room that it has for more.
func (d *draft) last() int {
	last := len(d.text) - 1
	if text := d.text[last]; len(text) >= pieceSize && text[len(text)-1] != '[' {
		d.text[last] = slices.Clone(text)
		d.text = append(d.text, nil)
		last++
	}
	return last
}

// Shared returns how many messages at the beginning of both are the same ones, see [Unchanged].
func Shared(before, now []llm.Message) int {
	n := 0
	for n < min(len(before), len(now)) && Unchanged(before[n], now[n]) {
		n++
	}
	return n
}

// Unchanged reports whether b is a, by the addresses of their parts, which never change.
func Unchanged(a, b llm.Message) bool {
	return a.Role == b.Role && Same(a.Parts, b.Parts) && Same(a.Chat, b.Chat)
}

// Same reports whether b is a, by where their elements are.
func Same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Body is the JSON of a request, in pieces which must not be changed.
type Body [][]byte

// Reader returns a reader of the whole body. There may be several.
func (b Body) Reader() *Pieces { return &Pieces{net.Buffers(slices.Clone(b))} } // reading consumes them

// Pieces reads a body, or writes it to a connection with one call to the system.
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

// Attach makes b the body of r, with its length, without which it would be sent in chunks,
// and lets it be sent again.
func (b Body) Attach(r *http.Request) {
	body := b.Reader()
	r.Body, r.ContentLength = body, body.Len()
	r.GetBody = func() (io.ReadCloser, error) { return b.Reader(), nil }
}

// Encode is json.Marshal that leaves <, > and & as they are.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// MustEncode is Encode of what can always be written: text, and what was read before.
func MustEncode(v any) json.RawMessage {
	text, err := Encode(v)
	if err != nil {
		panic(err)
	}
	return text
}
