// Package bash writes words and bytes as bash source, exactly. What it
// produces needs nothing but bash, is printable ASCII, and has no line longer
// than a few hundred bytes unless it is quoted text.
package bash

import "strings"

// Quote returns s as one single-quoted word. s must not hold NUL, which no
// bash word can.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Print returns a compound command that writes data, any bytes, to stdout.
func Print(data []byte) string {
	var b strings.Builder
	b.Grow(len(data) + len(data)/4 + 16)
	b.WriteString("{ ")
	for len(data) > 0 {
		line := chunk(data)
		b.WriteString("printf '%b' '")
		for _, c := range data[:line] {
			escape(&b, c)
		}
		b.WriteString("'\n")
		data = data[line:]
	}
	b.WriteString(":; }")
	return b.String()
}

// chunk returns how many bytes go into the next printf: up to the end of a
// line, so that text stays readable, and no more than fits comfortably.
func chunk(data []byte) int {
	const most = 200
	for i, c := range data[:min(len(data), most)] {
		if c == '\n' {
			return i + 1
		}
	}
	return min(len(data), most)
}

// escape writes one byte of printf's %b argument inside single quotes.
func escape(b *strings.Builder, c byte) {
	switch {
	case c == '\n':
		b.WriteString(`\n`)
	case c == '\\' || c == '\'' || c < ' ' || c > '~':
		b.WriteString(`\0`) // always three digits follow, so that no data digit can join them
		b.WriteByte('0' + c>>6)
		b.WriteByte('0' + c>>3&7)
		b.WriteByte('0' + c&7)
	default:
		b.WriteByte(c)
	}
}
