package python

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsSpace is str.isspace for one character.
func IsSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// isLineEnd reports whether Python's str.splitlines splits at r; "\r\n" counts as one.
func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	default:
		return false
	}
}

// Strip is str.strip without arguments.
func Strip(s string) string { return strings.TrimFunc(s, IsSpace) }

// CutLine splits b at its first line end, where str.splitlines would. Bytes that are not
// UTF-8 are not line ends.
func CutLine(b []byte) (line, rest []byte) {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if isLineEnd(r) {
			if bytes.HasPrefix(b[i:], []byte("\r\n")) {
				n = 2
			}
			return b[:i], b[i+n:]
		}
		i += n
	}
	return b, nil
}

// Text decodes b as UTF-8 with one U+FFFD for each byte that is not.
func Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}
