package journal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// members reads the members at the beginning of an object, which may be cut anywhere: numbers,
// texts, true, false and null, and flat objects of them. It ends before a list, a nested
// object, a value that is cut, and anything that is not JSON without white space.
type members struct {
	rest  []byte // from the next member's name on; nil: there is none
	after []byte // from behind the last value on
}

// value is a member's value: its JSON text.
type value []byte

func newMembers(object []byte) members {
	rest, ok := bytes.CutPrefix(object, []byte("{"))
	if !ok {
		rest = nil
	}
	return members{rest: rest}
}

// next returns the next member. Its name is as in the JSON text, with escapes.
func (m *members) next() (name []byte, v value, ok bool) {
	name, rest, ok := stringIn(m.rest)
	if !ok || len(rest) < 2 || rest[0] != ':' {
		return nil, nil, false
	}
	n := valueEnd(rest[1:])
	if n < 0 {
		return nil, nil, false
	}
	v, rest = value(rest[1:n+1]), rest[n+1:]
	if m.rest, m.after = nil, rest; len(rest) > 0 && rest[0] == ',' {
		m.rest = rest[1:]
	}
	return name[1 : len(name)-1], v, true
}

// stringIn cuts a string, with its quotes, off the beginning of a text.
func stringIn(text []byte) (quoted, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return nil, nil, false
		}
		i += n
		back := i
		for text[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 {
			return text[:i+1], text[i+1:], true
		}
	}
	return nil, nil, false
}

// valueEnd returns where the value at the beginning of a text ends; -1 if it is cut, or not
// flat.
func valueEnd(text []byte) int {
	switch text[0] {
	case '"':
		quoted, _, ok := stringIn(text)
		if !ok {
			return -1
		}
		return len(quoted)
	case '{':
		return flatEnd(text)
	case '[':
		return -1
	}
	if n := bytes.IndexAny(text, ",}"); n > 0 {
		return n
	}
	return -1
}

// flatEnd returns where a flat object ends.
func flatEnd(text []byte) int {
	m := newMembers(text)
	if bytes.HasPrefix(m.rest, []byte("}")) {
		return 2
	}
	for {
		_, v, ok := m.next()
		if !ok || v[0] == '{' {
			return -1
		}
		if bytes.HasPrefix(m.after, []byte("}")) {
			return len(text) - len(m.after) + 1
		}
	}
}

func (v value) float() float64 {
	f, _ := strconv.ParseFloat(string(v), 64) //nolint:errcheck // 0
	return f
}

func (v value) int() int64 {
	n, _ := strconv.ParseInt(string(v), 10, 64) //nolint:errcheck // 0
	return n
}

func (v value) isTrue() bool { return string(v) == "true" }

func (v value) text() string {
	var s string
	_ = json.Unmarshal(v, &s) // "" if it is not a text
	return s
}

// textBegin returns about the first most bytes of a text that is a member of an object, and
// may be cut.
func textBegin(object []byte, name string, most int) string {
	_, text, found := bytes.Cut(object, []byte(`,"`+name+`":"`))
	if !found {
		return ""
	}
	var out []byte
	for i := 0; i < len(text) && len(out) < most && text[i] != '"'; i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		if i++; i == len(text) {
			break
		}
		switch c := text[i]; c {
		case 'n', 'r':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'u':
			code, _ := strconv.ParseUint(string(text[i+1:min(i+5, len(text))]), 16, 16) //nolint:errcheck // cut
			out, i = utf8.AppendRune(out, rune(code)), i+4
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
