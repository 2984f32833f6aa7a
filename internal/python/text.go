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

// Decode is b.decode(errors="replace"): UTF-8 with one U+FFFD for each longest part that
// could begin a character and does not continue, and for each byte that cannot begin one.
func Decode(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	s.Grow(len(b) + len(b)/8)
	for len(b) > 0 {
		n := validPrefix(b)
		s.Write(b[:n])
		if b = b[n:]; len(b) > 0 {
			s.WriteRune(utf8.RuneError)
			b = b[brokenLen(b):]
		}
	}
	return s.String()
}

// validPrefix is the length of the longest prefix of b that is UTF-8.
func validPrefix(b []byte) int {
	n := 0
	for n < len(b) {
		if b[n] < utf8.RuneSelf {
			n++
			continue
		}
		_, size := utf8.DecodeRune(b[n:])
		if size == 1 {
			break
		}
		n += size
	}
	return n
}

// brokenLen is how many bytes at the start of b, which is not UTF-8 there, one U+FFFD
// stands for.
func brokenLen(b []byte) int {
	low, high, more := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		more = 1
	case c >= 0xe0 && c <= 0xef:
		more = 2
	case c >= 0xf0 && c <= 0xf4:
		more = 3
	}
	switch b[0] {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	n := 1
	for n <= more && n < len(b) && low <= b[n] && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}
