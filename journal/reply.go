package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// sharedText is the least size, in bytes, of a text that is kept once for a reply's
// message and the provider's answer.
const sharedText = 64

// replyFields are ReplyData's, as they stand in a record.
type replyFields ReplyData

// replyRecord is the data of a reply record: of the texts that the message has too, the
// response holds "" only. Each of Shared says where: at the offset [0] in the response
// stand the message's bytes from [1] to [2].
type replyRecord struct {
	replyFields
	Shared [][3]int `json:"shared,omitempty"`
}

// packed returns d with what its message and its response have in common in one place.
func (d ReplyData) packed() (replyRecord, error) {
	var err error
	if d.Message, err = compactRaw(d.Message); err == nil {
		d.Response, err = compactRaw(d.Response)
	}
	if err != nil {
		return replyRecord{}, err
	}
	texts := map[string][2]int{}
	for from, to := range textsIn(d.Message) {
		texts[string(d.Message[from:to])] = [2]int{from, to}
	}
	r := replyRecord{replyFields: replyFields(d)}
	if len(texts) == 0 {
		return r, nil
	}
	rest, copied := make([]byte, 0, len(d.Response)), 0
	for from, to := range textsIn(d.Response) {
		if at, ok := texts[string(d.Response[from:to])]; ok {
			rest = append(rest, d.Response[copied:from]...)
			r.Shared = append(r.Shared, [3]int{len(rest), at[0], at[1]})
			rest, copied = append(rest, `""`...), to
		}
	}
	if copied > 0 {
		r.Response = append(rest, d.Response[copied:]...)
	}
	return r, nil
}

// UnmarshalJSON reads the data of a reply record, with the response as it came.
func (d *ReplyData) UnmarshalJSON(data []byte) error {
	var r replyRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	*d = ReplyData(r.replyFields)
	if len(r.Shared) == 0 {
		return nil
	}
	var whole []byte
	copied := 0
	for _, s := range r.Shared {
		at, from, to := s[0], s[1], s[2]
		if at < copied || at+2 > len(r.Response) || from < 0 || from > to || to > len(r.Message) {
			return errors.New("its response does not fit its message")
		}
		whole = append(append(whole, r.Response[copied:at]...), r.Message[from:to]...)
		copied = at + 2
	}
	d.Response = append(whole, r.Response[copied:]...)
	return nil
}

// textsIn yields where the long strings of a JSON text stand, quotes included.
func textsIn(text []byte) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		for from := 0; ; {
			open := bytes.IndexByte(text[from:], '"')
			if open < 0 {
				return
			}
			from += open
			to := from + 1
			for to < len(text) && text[to] != '"' {
				if text[to] == '\\' {
					to++
				}
				to++
			}
			if to++; to > len(text) || to-from >= sharedText && !yield(from, to) {
				return
			}
			from = to
		}
	}
}

// compactRaw is a JSON text on one line and in UTF-8; of none it is none.
func compactRaw(text json.RawMessage) (json.RawMessage, error) {
	if text == nil {
		return nil, nil
	}
	var b bytes.Buffer
	b.Grow(len(text))
	if err := json.Compact(&b, text); err != nil {
		return nil, err
	}
	if !utf8.Valid(b.Bytes()) {
		return bytes.ToValidUTF8(b.Bytes(), []byte("\ufffd")), nil
	}
	return b.Bytes(), nil
}

// heard is the reply that was recorded last: its message is not told again.
type heard struct {
	step    int
	members []byte // of the message, opening brace included
}

func heardIn(d *ReplyData) heard {
	message, err := compactRaw(d.Message)
	if err != nil || len(message) < sharedText || message[0] != '{' {
		return heard{}
	}
	return heard{d.Step, message[:len(message)-1]}
}

// shorten leaves out of d what the reply's message has already.
func (h heard) shorten(d MessagesData) (MessagesData, error) {
	if h.members == nil {
		return d, nil
	}
	for i, m := range d.Messages {
		m, err := compactRaw(m)
		if err != nil {
			return d, err
		}
		rest, found := bytes.CutPrefix(m, h.members)
		if !found || rest[0] != ',' && rest[0] != '}' {
			continue
		}
		messages := append([]json.RawMessage(nil), d.Messages...)
		messages[i] = append([]byte("{"), bytes.TrimPrefix(rest, []byte(","))...)
		return MessagesData{Messages: messages, Reply: &replyRef{Step: h.step, Message: i}}, nil
	}
	return d, nil
}

// whole undoes shorten.
func (h heard) whole(d MessagesData) ([]json.RawMessage, error) {
	if d.Reply == nil {
		return d.Messages, nil
	}
	i := d.Reply.Message
	if d.Reply.Step != h.step || i < 0 || i >= len(d.Messages) || len(d.Messages[i]) < 2 || h.members == nil {
		return nil, errors.New("the reply that it refers to is not before it")
	}
	rest := d.Messages[i][1:]
	m := bytes.Clone(h.members)
	if len(rest) > 1 {
		m = append(m, ',')
	}
	d.Messages[i] = append(m, rest...)
	return d.Messages, nil
}
