package logparse

import "strings"

// stripANSI removes the same terminal escapes as the reference: \x1B(?:[@-Z\\-_]|\[[0-?]*[
// -/]*[@-~]).
func stripANSI(text string) string {
	i := strings.IndexByte(text, '\x1b')
	if i < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i >= 0 {
		b.WriteString(text[:i])
		n := escapeLen(text[i:])
		if n == 0 {
			b.WriteByte('\x1b')
			n = 1
		}
		text = text[i+n:]
		i = strings.IndexByte(text, '\x1b')
	}
	b.WriteString(text)
	return b.String()
}

// escapeLen returns the length of the escape at the start of s, which begins with ESC. It is 0 if
// there is none.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	if s[1] != '[' {
		if '@' <= s[1] && s[1] <= '_' {
			return 2
		}
		return 0
	}
	i := 2
	for i < len(s) && '0' <= s[i] && s[i] <= '?' {
		i++
	}
	for i < len(s) && ' ' <= s[i] && s[i] <= '/' {
		i++
	}
	if i < len(s) && '@' <= s[i] && s[i] <= '~' {
		return i + 1
	}
	return 0
}
