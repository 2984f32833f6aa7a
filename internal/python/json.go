package python

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Indent formats JSON text byte for byte as json.dumps(v, indent=2) does for the same
// members: two spaces per level, DEL and every character beyond ASCII as \uXXXX, no
// final newline. Lines after the first begin with prefix.
func Indent(text []byte, prefix string) ([]byte, error) { return indented(text, prefix, 2) }

func indented(text []byte, prefix string, indent int) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(text) + len(text)/8)
	if err := json.Indent(&b, text, prefix, strings.Repeat(" ", indent)); err != nil {
		return nil, err
	}
	return escapeNonASCII(b.Bytes()), nil
}

const del = 0x7f // the first character that Python does not print

// escapeNonASCII escapes DEL and all characters beyond ASCII. It works without a parser,
// because a JSON text has such characters only inside strings.
func escapeNonASCII(text []byte) []byte {
	first := slices.IndexFunc(text, func(c byte) bool { return c >= del })
	if first < 0 {
		return text
	}
	out := make([]byte, first, len(text)+len(text)/4)
	copy(out, text)
	for rest := text[first:]; len(rest) > 0; {
		if rest[0] < del {
			out = append(out, rest[0])
			rest = rest[1:]
			continue
		}
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			out = appendEscape(appendEscape(out, high), low)
		} else {
			out = appendEscape(out, r)
		}
	}
	return out
}

func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// Compact marshals v on one line without escaping <, > and &. The result
// is valid UTF-8, even if raw members of v are not.
func Compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !utf8.Valid(out) {
		out = bytes.ToValidUTF8(out, []byte("\ufffd"))
	}
	return out, nil
}

// JSON formats v byte for byte as Python's json.dumps(v, indent=2) does for the
// same members, see [Indent].
func JSON(v any, prefix string) ([]byte, error) {
	text, err := Compact(v)
	if err != nil {
		return nil, err
	}
	return Indent(text, prefix)
}

// Dumps formats v byte for byte as Python's json.dumps(v, indent=indent) does for the same
// members, see [Indent].
func Dumps(v any, indent int) ([]byte, error) {
	text, err := Compact(v)
	if err != nil {
		return nil, err
	}
	return indented(text, "", indent)
}
