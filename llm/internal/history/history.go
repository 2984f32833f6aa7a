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
	// Leads says that the system messages at the start of a conversation are in the head, not in the list.
	Leads bool

	// Head returns a request up to and including the bracket that opens the list.
	Head func(tools []llm.Tool, lead []llm.Message) ([]byte, error)

	// Turn writes the turn that begins with the i-th message. It must depend only on the messages of the turn
	// and the one before it, because it is kept.
	Turn func(messages []llm.Message, i int) (Turn, error)

	// Continues reports whether a message may belong to the turn before it. Nil: each message is a turn.
	Continues func(turn []llm.Message, next llm.Message) bool
}

// Turn is one or more consecutive messages as they are sent.
type Turn struct {
	Messages int               // their number
	Items    []json.RawMessage // elements of the list; nil in the turns of [Form.Marked]
	Role     string            // for the caller of [Form.Marked]
	Mark     int               // bytes at the end of Items behind the place for a mark; 0 if there is none
}

// Text returns a request up to the end of messages, which are the first messages of req. The caller must not
// change its pieces, but may append others.
func (f *Form) Text(req *llm.Request, messages []llm.Message) (Body, error) {
	d, err := f.draft(req, messages)
	if err != nil {
		return nil, err
	}
	return slices.Clone(d.text), nil
}

// Marked is Text with a mark in each of the turns that choose returns the indexes of, in order.
func (f *Form) Marked(req *llm.Request, messages []llm.Message, mark []byte, choose func([]Turn) []int) (Body, error) {
	d, err := f.draft(req, messages)
	if err != nil {
		return nil, err
	}
	text := slices.Clone(d.text)
	for _, i := range slices.Backward(choose(d.turns)) {
		end := d.ends[i+1]
		piece, at := text[end.piece], end.at-d.turns[i].Mark
		text = slices.Replace(text, end.piece, end.piece+1, piece[:at], mark, piece[at:])
	}
	return text, nil
}

// draft returns a draft of messages: the kept one of req's conversation if it matches, otherwise a new one.
func (f *Form) draft(req *llm.Request, messages []llm.Message) (*draft, error) {
	var lead []llm.Message
	for f.Leads && len(lead) < len(messages) && messages[len(lead)].Role == llm.RoleSystem {
		lead = messages[:len(lead)+1]
	}
	d := kept(req)
	if d == nil || d.form != f || !Same(d.tools, req.Tools) || !slices.EqualFunc(d.lead, lead, unchanged) {
		head, err := f.Head(req.Tools, lead)
		if err != nil {
			return nil, err
		}
		d = &draft{form: f, tools: req.Tools, lead: slices.Clone(lead), text: Body{head}, ends: []place{{0, len(head)}}}
	}
	if req.Memo != nil {
		req.Memo.Kept = d
	}
	return d, d.hold(messages[len(lead):])
}

// kept returns the draft of req's conversation; nil if there is none.
func kept(req *llm.Request) *draft {
	if req.Memo == nil {
		return nil
	}
	d, _ := req.Memo.Kept.(*draft)
	return d
}

// pieceSize is the size at which a piece of a draft is complete, in bytes. A piece is copied and has spare
// room while messages are appended; one piece for a long conversation would make both expensive.
const pieceSize = 16 << 10

// draft is a request up to the end of its messages. Earlier requests made from it may still be read, so bytes
// in its pieces never change.
type draft struct {
	form     *Form
	tools    []llm.Tool
	lead     []llm.Message // in the head
	messages []llm.Message // after them
	turns    []Turn
	ends     []place // end of the head and of each turn in text
	text     Body    // messages are appended to the last piece
}

// place is a position in a draft's text.
type place struct{ piece, at int }

// hold updates the draft to messages.
func (d *draft) hold(messages []llm.Message) error {
	d.keep(messages)
	for i := len(d.messages); i < len(messages); i = len(d.messages) {
		turn, err := d.form.Turn(messages, i)
		if err != nil {
			return fmt.Errorf("message %d: %w", len(d.lead)+i, err)
		}
		last := d.last()
		text := d.text[last]
		for _, item := range turn.Items {
			if len(text) == 0 || text[len(text)-1] != '[' {
				text = append(text, ',')
			}
			text = append(text, item...)
		}
		turn.Items = nil // they are in the text
		d.text[last], d.messages = text, append(d.messages, messages[i:i+turn.Messages]...)
		d.turns, d.ends = append(d.turns, turn), append(d.ends, place{last, len(text)})
	}
	return nil
}

// keep removes all turns but those at the beginning of messages that are complete.
func (d *draft) keep(messages []llm.Message) {
	same, at, n := shared(d.messages, messages), 0, 0
	for n < len(d.turns) && at+d.turns[n].Messages <= same {
		at += d.turns[n].Messages
		n++
	}
	if d.form.Continues != nil && n > 0 && at < len(messages) {
		if last := at - d.turns[n-1].Messages; d.form.Continues(messages[last:at], messages[at]) {
			n, at = n-1, last
		}
	}
	if n == len(d.turns) {
		return
	}
	end := d.ends[n]
	d.text = append(slices.Clone(d.text[:end.piece]), slices.Clone(d.text[end.piece][:end.at]))
	d.messages, d.turns, d.ends = d.messages[:at], d.turns[:n], d.ends[:n+1]
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

// shared returns the number of messages at the beginning of before and now that are the same.
func shared(before, now []llm.Message) int {
	n := 0
	for n < min(len(before), len(now)) && unchanged(before[n], now[n]) {
		n++
	}
	return n
}

// unchanged reports whether a and b are the same message: it compares the addresses of their parts, which
// never change.
func unchanged(a, b llm.Message) bool {
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
