package logparse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A step cuts its match off the start of text.
type step func(text string) (rest string, ok bool)

// literal matches s itself.
func literal(s string) step {
	return func(text string) (string, bool) { return strings.CutPrefix(text, s) }
}

// cutSteps applies all steps, one after the other. It is a regular expression in which no step has
// a choice, so that it needs no backtracking.
func cutSteps(text string, steps ...step) (rest string, ok bool) {
	rest = text
	for _, s := range steps {
		if rest, ok = s(rest); !ok {
			return text, false
		}
	}
	return rest, true
}

// isWord reports whether Python's \w matches r.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// cutDigits is Python's \d+.
func cutDigits(text string) (rest string, ok bool) { return cutSome(text, unicode.IsDigit) }

// cutVersion is Python's [\d\.]+, the characters of a time or a version.
func cutVersion(text string) (rest string, ok bool) {
	return cutSome(text, func(r rune) bool { return r == '.' || unicode.IsDigit(r) })
}

// cutSpaces is Python's \s+.
func cutSpaces(text string) (rest string, ok bool) {
	rest = stripLeft(text)
	return rest, len(rest) < len(text)
}

func cutSome(text string, is func(rune) bool) (rest string, ok bool) {
	rest = strings.TrimLeftFunc(text, is)
	return rest, len(rest) < len(text)
}

// cutLastDigits is Python's \d+ before the end of text.
func cutLastDigits(text string) (rest string, ok bool) {
	rest = strings.TrimRightFunc(text, unicode.IsDigit)
	return rest, len(rest) < len(text)
}

// cutLastSpaces is \s{n} before the end of text.
func cutLastSpaces(text string, n int) (rest string, ok bool) {
	rest, ok = text, true
	for ; ok && n > 0; n-- {
		rest, ok = cutLastSpace(rest)
	}
	return rest, ok
}

// cutLastIndented is \s{n}\d+ before the end of text.
func cutLastIndented(text string, n int) (rest string, ok bool) {
	if rest, ok = cutLastDigits(text); !ok {
		return text, false
	}
	return cutLastSpaces(rest, n)
}

// mayBeDigit is false for most bytes that Python's \d does not match.
func mayBeDigit(c byte) bool { return '0' <= c && c <= '9' || isWide(c) }

// cutNumbered cuts the start of a failure in most reports: "12) ".
func cutNumbered(text string) (rest string, ok bool) {
	if text == "" || !mayBeDigit(text[0]) {
		return text, false
	}
	return cutSteps(text, cutDigits, literal(")"), cutSpace)
}

// indentOf counts the leading white space characters.
func indentOf(line string) int {
	return utf8.RuneCountInString(line[:len(line)-len(stripLeft(line))])
}

// isLineStart reports whether (?m)^ matches at pos.
func isLineStart(text string, pos int) bool { return pos == 0 || text[pos-1] == '\n' }

// oneLine joins the lines of a name like the reference: re.sub(r"\s+", " ", name).strip().
func oneLine(name string) string { return strings.Join(words(name), " ") }
