// Package printable makes text from outside (ids, errors, problem statements)
// safe to show in a terminal. Characters that would move the cursor, change colors, set
// the title or reverse the order of the letters are shown as escapes: nothing is dropped,
// and nothing controls the terminal.
//
// The escapes have the form of JSON, such as \u001b, so that printable JSON is still the
// same JSON. Bytes that are not UTF-8, which valid JSON cannot have, become \x9b
// and similar.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"batch.example/batch/internal/bash"
)

// Text returns s with everything that could control a terminal as escapes. Newlines
// and tabs stay; a carriage return before a newline is removed.
func Text(s string) string {
	if clean(s) {
		return s
	}
	return string(appendText(make([]byte, 0, len(s)+16), []byte(s)))
}

// Line is like [Text], but returns one line: newlines, tabs and carriage returns become
// spaces.
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

// acts reports whether a terminal may do something else with r than draw it. The joiners
// are allowed, because some scripts and emoji need them.
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
		case r == '\r' && len(src) > 1 && src[1] == '\n': // only the newline is kept
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

// Escape reads the escape of a terminal at the beginning of a text, which begins with ESC, and returns
// what follows it. If it sets colors, parameters has its numbers.
func Escape(text string) (parameters string, color bool, rest string) {
	if len(text) < 2 {
		return "", false, ""
	}
	switch text[1] {
	case '[': // CSI: parameters, then one final byte
		for i := 2; i < len(text); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				return text[2:i], c == 'm', text[i+1:]
			} else if c < 0x20 || c > 0x7e { // it is broken: show what follows
				return "", false, text[i:]
			}
		}
		return "", false, ""
	case ']', 'P', '^', '_', 'X': // strings for the terminal, to BEL or ST
		for i := 2; i < len(text); i++ {
			if text[i] == '\a' {
				return "", false, text[i+1:]
			}
			if text[i] == '\x1b' && i+1 < len(text) && text[i+1] == '\\' {
				return "", false, text[i+2:]
			}
			if text[i] == '\n' { // it has no end
				return "", false, text[i:]
			}
		}
		return "", false, ""
	}
	at := 1
	for at < len(text)-1 && text[at] >= 0x20 && text[at] < 0x30 { // before the final byte, as in ESC ( B
		at++
	}
	if text[at] < 0x20 || text[at] > 0x7e {
		return "", false, text[at:]
	}
	return "", false, text[at+1:]
}

// ShellWord returns text as a shell takes it as one word, quoted only where it must be:
// for commands that a person may copy.
func ShellWord(text string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("@%+=:,./_-", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	if text == "" || strings.ContainsFunc(text, special) {
		return bash.Quote(text)
	}
	return text
}
