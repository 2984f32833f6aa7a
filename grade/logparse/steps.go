package logparse

import (
	"strings"
	"unicode"

	"batch.example/batch/internal/python"
)

// A step cuts what it matches off the start of text.
type step func(text string) (rest string, ok bool)

// literal matches s itself.
func literal(s string) step {
	return func(text string) (string, bool) { return strings.CutPrefix(text, s) }
}

// cutSteps cuts off what all steps match, one after the other. It is a regular expression
// in which no step has a choice, so that it needs no backtracking.
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
func cutDigits(text string) (rest string, ok bool) {
	i := 0
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	if i < len(text) && isWide(text[i]) {
		return cutSome(text, isDigit)
	}
	return text[i:], i > 0
}

// cutVersion is Python's [\d\.]+, what a time or a version consists of.
func cutVersion(text string) (rest string, ok bool) {
	return cutSome(text, func(r rune) bool { return r == '.' || isDigit(r) })
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
	i := len(text)
	for i > 0 && '0' <= text[i-1] && text[i-1] <= '9' {
		i--
	}
	rest = text[:i]
	if i > 0 && isWide(text[i-1]) {
		rest = strings.TrimRightFunc(text, isDigit)
	}
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

// firstSpace returns the position of the first white space of text, or its length.
func firstSpace(text string) int {
	word, _ := cutWideWord(text, 0)
	return len(word)
}

// cutNumbered is what starts a failure in most reports: "12) ".
func cutNumbered(text string) (rest string, ok bool) {
	if text == "" || text[0] < '0' || text[0] > '9' && !isWide(text[0]) {
		return text, false
	}
	return cutSteps(text, cutDigits, literal(")"), cutSpace)
}

// indentOf counts the white space characters before the first other one.
func indentOf(line string) int {
	n := 0
	for n < len(line) && isASCIISpace(line[n]) {
		n++
	}
	if n == len(line) || !isWide(line[n]) {
		return n
	}
	for _, r := range line[n:] {
		if !python.IsSpace(r) {
			break
		}
		n++
	}
	return n
}

// lineEnds finds the ends of the lines of text, with memory for the last one: on a long
// line with many places to look at, its end is searched once.
type lineEnds struct {
	text     string
	from, to int
}

// after returns the position of the first "\n" at or after pos, or that of the text's end.
func (l *lineEnds) after(pos int) int {
	if pos < l.from || pos > l.to || l.to == 0 {
		l.from, l.to = pos, len(l.text)
		if i := strings.IndexByte(l.text[pos:], '\n'); i >= 0 {
			l.to = pos + i
		}
	}
	return l.to
}

// isLineStart says whether pos is where (?m)^ matches.
func isLineStart(text string, pos int) bool { return pos == 0 || text[pos-1] == '\n' }

// oneLine is what the reference does to a name of several lines: re.sub(r"\s+", " ", name).strip().
func oneLine(name string) string { return strings.Join(words(name), " ") }
