package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// sharedText is the least size, in bytes, of a text that is kept once for a reply's
// message, the provider's answer and the messages that the agent makes of it.
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
	r := replyRecord{replyFields: replyFields(d)}
	r.Response, r.Shared = share(d.Message, d.Response)
	return r, nil
}

// share takes the long strings that message has too out of text.
func share(message, text []byte) (rest []byte, shared [][3]int) {
	texts := map[string][2]int{}
	for from, to := range textsIn(message) {
		texts[string(message[from:to])] = [2]int{from, to}
	}
	if len(texts) == 0 {
		return text, nil
	}
	copied := 0
	for from, to := range textsIn(text) {
		if at, ok := texts[string(text[from:to])]; ok {
			rest = append(rest, text[copied:from]...)
			shared = append(shared, [3]int{len(rest), at[0], at[1]})
			rest, copied = append(rest, `""`...), to
		}
	}
	if copied == 0 {
		return text, nil
	}
	return append(rest, text[copied:]...), shared
}

// unshare undoes share.
func unshare(message, rest []byte, shared [][3]int) ([]byte, error) {
	if len(shared) == 0 {
		return rest, nil
	}
	var whole []byte
	copied := 0
	for _, s := range shared {
		at, from, to := s[0], s[1], s[2]
		if at < copied || at+2 > len(rest) || from < 0 || from > to || to > len(message) {
			return nil, errors.New("it does not fit the reply's message")
		}
		whole = append(append(whole, rest[copied:at]...), message[from:to]...)
		copied = at + 2
	}
	return append(whole, rest[copied:]...), nil
}

// UnmarshalJSON reads the data of a reply record, with the response as it came.
func (d *ReplyData) UnmarshalJSON(data []byte) error {
	var r replyRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	*d = ReplyData(r.replyFields)
	var err error
	d.Response, err = unshare(r.Message, r.Response, r.Shared)
	return err
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

// heard is the reply that was recorded last: its texts are not told again.
type heard struct {
	step    int
	message []byte
}

func heardIn(d *ReplyData) heard {
	message, err := compactRaw(d.Message)
	if err != nil {
		return heard{}
	}
	return heard{d.Step, message}
}

// messagesRecord is the data of a messages record: of the texts that the message of the
// reply to step Reply has too, the messages hold "" only, see replyRecord.
type messagesRecord struct {
	Messages json.RawMessage `json:"messages"`
	Reply    int             `json:"reply,omitempty"`
	Shared   [][3]int        `json:"shared,omitempty"`
}

// packed returns d without what the reply's message has already.
func (h heard) packed(d MessagesData) (any, error) {
	list := []byte{'['}
	for i, m := range d.Messages {
		m, err := compactRaw(m)
		if err != nil {
			return d, err
		}
		if i > 0 {
			list = append(list, ',')
		}
		if m == nil {
			m = json.RawMessage("null")
		}
		list = append(list, m...)
	}
	rest, shared := share(h.message, append(list, ']'))
	if len(shared) == 0 {
		return d, nil
	}
	return messagesRecord{rest, h.step, shared}, nil
}

// messages reads the data of a messages record whole.
func (h heard) messages(data []byte) ([]json.RawMessage, error) {
	var r messagesRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if len(r.Shared) > 0 && r.Reply != h.step {
		return nil, errors.New("the reply that it refers to is not before it")
	}
	list, err := unshare(h.message, r.Messages, r.Shared)
	if err != nil || list == nil {
		return nil, err
	}
	var messages []json.RawMessage
	return messages, json.Unmarshal(list, &messages)
}
