package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

// sharedText is the smallest size, in bytes, of a text that is stored only once for a
// reply's message, the provider's answer and the agent's messages with it.
const sharedText = 64

// replyFields are the fields of ReplyData, as a record has them.
type replyFields ReplyData

// replyRecord is the data of a reply record: the response has "" for each text that is
// also in the message. Each of Shared says where: the text at offset [0] in the response
// is the message's bytes from [1] to [2].
type replyRecord struct {
	replyFields
	Shared [][3]int `json:"shared,omitempty"`
}

// packed returns d with each text that is in both its message and its response stored once.
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

// share removes from text the long strings that are also in message.
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
			return nil, errors.New("it does not match the reply's message")
		}
		whole = append(append(whole, rest[copied:at]...), message[from:to]...)
		copied = at + 2
	}
	return append(whole, rest[copied:]...), nil
}

// UnmarshalJSON reads the data of a reply record and restores the whole response.
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

// textsIn yields the places of the long strings in a JSON text, including their quotes.
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

// compactRaw returns a JSON text on one line and in UTF-8; nil for nil.
func compactRaw(text json.RawMessage) (json.RawMessage, error) {
	if text == nil || isCompact(text) {
		return text, nil
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

// isCompact reports whether a JSON text is on one line and in UTF-8, as nearly all are. Encoding
// it as a part of a record checks that it is JSON at all.
func isCompact(text []byte) bool {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c <= ' ' && !quoted:
			return false
		}
	}
	return utf8.Valid(text)
}

// lastReply is the last recorded reply. Messages records do not repeat its texts, nor the pictures that its
// actions have read.
type lastReply struct {
	step    int
	message []byte // and the base64 of each picture, in quotes
	differs bool   // people may read another message
}

func lastReplyIn(d *ReplyData) lastReply {
	message, err := compactRaw(d.Message)
	if err != nil {
		return lastReply{}
	}
	return lastReply{d.Step, message, true}
}

// show adds the output of an action, if it is a picture.
func (h *lastReply) show(d OutputData) {
	if picture := d.Picture(); picture != nil {
		h.message = slices.Concat(h.message, []byte(`"`), base64.StdEncoding.AppendEncode(nil, picture), []byte(`"`))
	}
}

// messagesRecord is the data of a messages record: the messages have "" for each text
// that is also in the message of the reply to step Reply, see replyRecord.
type messagesRecord struct {
	Messages json.RawMessage `json:"messages"`
	Reply    int             `json:"reply,omitempty"`
	Shared   [][3]int        `json:"shared,omitempty"`
}

// packed returns d without the texts that the reply's message already has.
func (h lastReply) packed(d MessagesData) (any, error) {
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

// messages reads the data of a messages record and restores the whole messages.
func (h lastReply) messages(data []byte) ([]json.RawMessage, error) {
	var r messagesRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if len(r.Shared) > 0 && r.Reply != h.step {
		return nil, errors.New("the reply that it refers to does not come before it")
	}
	list, err := unshare(h.message, r.Messages, r.Shared)
	if err != nil || list == nil {
		return nil, err
	}
	var messages []json.RawMessage
	return messages, json.Unmarshal(list, &messages)
}
