// Package printable makes text from outside (ids, errors, problem statements)
// fit for a person's terminal. What would move the cursor, change colours, set
// the title or turn the order of the letters round is shown as an escape
// instead: nothing is dropped, and nothing acts.
//
// Escapes are those of JSON, \u001b, so that JSON that is made printable is
// still the same JSON; bytes that are not UTF-8, which no JSON has, are \x9b.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s with all that a terminal might act on as escapes. Newlines
// and tabs stay, and a carriage return before a newline is part of it.
func Text(s string) string {
	if clean(s) {
		return s
	}
	return string(appendText(make([]byte, 0, len(s)+16), []byte(s)))
}

// Line is [Text] in one line: newlines, tabs and carriage returns are spaces.
func Line(s string) string {
	if clean(s) && !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return Text(oneLine.Replace(s))
}

var oneLine = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

// clean reports whether Text leaves s as it is.
func clean(s string) bool {
	for i, r := range s {
		if acts(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
	}
	return true
}

// acts reports whether a terminal may do something else with r than draw it.
// The joiners stay: scripts and emoji are written with them.
func acts(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	switch {
	case r == '\n' || r == '\t' || r == nonJoiner || r == joiner:
		return false
	case r < utf8.RuneSelf:
		return r < ' ' || r == '\x7f'
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

func appendText(dst, src []byte) []byte {
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		switch {
		case r == '\r' && len(src) > 1 && src[1] == '\n': // the newline follows
		case r == utf8.RuneError && n == 1:
			dst = fmt.Appendf(dst, `\x%02x`, src[0])
		case acts(r):
			for _, unit := range utf16.Encode([]rune{r}) {
				dst = fmt.Appendf(dst, `\u%04x`, unit)
			}
		default:
			dst = append(dst, src[:n]...)
		}
		src = src[n:]
	}
	return dst
}
