// Package bash writes words and bytes as bash source that yields exactly these bytes. The
// source needs only bash. Except for quoted words, it is printable ASCII and
// has no line longer than about a thousand bytes.
package bash

import (
	"bytes"
	"math"
	"strings"
)

// Quote returns s as one single-quoted word. S must not contain NUL, because a bash word
// cannot.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Words returns a command of words, each as Quote returns it.
func Words(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Print returns a compound command that writes data, which may be any bytes, to stdout.
// Backquotes and less-than signs are escaped too, so that the command can be put in a
// fenced block or an XML tag.
func Print(data []byte) string {
	command, _ := printSome(data, math.MaxInt)
	return command
}

// Prints is like Print, but returns several commands, each at most limit bytes long. It
// returns at least one. A limit below 2000 counts as 2000.
func Prints(data []byte, limit int) []string {
	var commands []string
	for len(commands) == 0 || len(data) > 0 {
		command, n := printSome(data, max(limit, 2000))
		commands, data = append(commands, command), data[n:]
	}
	return commands
}

// printSome returns a command of at most limit bytes, and how many bytes of data it writes.
func printSome(data []byte, limit int) (command string, done int) {
	const open, end, last = "printf '%b' '", "'\n", ":; }"
	var b strings.Builder
	b.Grow(min(limit, len(data)+len(data)/4+16))
	b.WriteString("{ ")
	for done < len(data) {
		line := data[done:][:chunk(data[done:])]
		if b.Len()+len(open)+len(`\0ooo`)*len(line)+len(end)+len(last) > limit {
			break
		}
		b.WriteString(open)
		for _, c := range line {
			escape(&b, c)
		}
		b.WriteString(end)
		done += len(line)
	}
	b.WriteString(last)
	return b.String(), done
}

// chunk returns how many bytes the next printf writes: at most 200, and whole lines if
// possible, so that text stays readable.
func chunk(data []byte) int {
	const most = 200
	if len(data) <= most {
		return len(data)
	}
	if end := bytes.LastIndexByte(data[:most], '\n'); end >= 0 {
		return end + 1
	}
	return most
}

// escape writes one byte of printf's %b argument inside single quotes.
func escape(b *strings.Builder, c byte) {
	switch {
	case c == '\n':
		b.WriteString(`\n`)
	case c == '\\' || c == '\'' || c == '`' || c == '<' || c < ' ' || c > '~':
		b.WriteString(`\0`) // always with three digits, so that a digit in data is not read as one of them
		b.WriteByte('0' + c>>6)
		b.WriteByte('0' + c>>3&7)
		b.WriteByte('0' + c&7)
	default:
		b.WriteByte(c)
	}
}
