package logparse

import (
	"iter"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"batch.example/batch/internal/python"
)

// lines yields the pieces of Python's text.split("\n"), so that there is at least one.
func lines(text string) iter.Seq[string] { return new(results).lines(text) }

// isWide reports whether c may be part of a character beyond ASCII, so that Python's Unicode rules
// decide whether it is white space.
func isWide(c byte) bool { return c >= utf8.RuneSelf }

// isASCIISpace is str.isspace for a byte below 128.
func isASCIISpace(c byte) bool { return c == ' ' || c-'\t' < 5 || c-0x1c < 4 }

// strip is Python's text.strip(). Most lines need no look at Unicode.
func strip(s string) string { return stripRight(stripLeft(s)) }

func stripLeft(s string) string {
	for s != "" && isASCIISpace(s[0]) {
		s = s[1:]
	}
	if s != "" && isWide(s[0]) {
		return strings.TrimLeftFunc(s, python.IsSpace)
	}
	return s
}

func stripRight(s string) string {
	for s != "" && isASCIISpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	if s != "" && isWide(s[len(s)-1]) {
		return strings.TrimRightFunc(s, python.IsSpace)
	}
	return s
}

// cutWord returns the first of text.split()'s words, "" if there is none, and the text after it.
func cutWord(text string) (word, rest string) {
	text = stripLeft(text)
	for i := 0; i < len(text); i++ {
		if isASCIISpace(text[i]) {
			return text[:i], text[i:]
		}
		if isWide(text[i]) {
			return cutWideWord(text, i)
		}
	}
	return text, ""
}

func cutWideWord(text string, from int) (word, rest string) {
	if i := strings.IndexFunc(text[from:], python.IsSpace); i >= 0 {
		return text[:from+i], text[from+i:]
	}
	return text, ""
}

// words is Python's text.split().
func words(text string) []string { return strings.FieldsFunc(text, python.IsSpace) }

// cutSpace cuts exactly one white space character, which text must start with.
func cutSpace(text string) (rest string, ok bool) {
	r, n := utf8.DecodeRuneInString(text)
	return text[n:], n > 0 && python.IsSpace(r)
}

// cutLastSpace cuts exactly one white space character, which text must end with.
func cutLastSpace(text string) (rest string, ok bool) {
	r, n := utf8.DecodeLastRuneInString(text)
	return text[:len(text)-n], n > 0 && python.IsSpace(r)
}

// The characters of Python's \s, \d and \w, for use within brackets of an expression.
const (
	spaceChars = `\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	digitChars = `\p{Nd}`
	wordChars  = `\p{L}\p{N}_`
)

var pythonClasses = strings.NewReplacer(
	`\\`, `\\`, `\[`, `\[`,
	`\s`, "["+spaceChars+"]", `\S`, "[^"+spaceChars+"]",
	`\d`, "["+digitChars+"]", `\D`, "[^"+digitChars+"]",
	`\w`, "["+wordChars+"]", `\W`, "[^"+wordChars+"]",
)

// expression compiles expr on first use. \s, \d and \w have Python's meaning, for all of Unicode;
// inside brackets, use spaceChars and its siblings instead. \b still knows only ASCII, and $
// without (?m) does not match before a last "\n".
func expression(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pythonClasses.Replace(expr)) })
}

// cutParens cuts a last, non-empty " (...)" at the end of text, as `(.*) \((.+)\)$` matches it.
func cutParens(text string) (before string, ok bool) {
	inner, ok := strings.CutSuffix(text, ")")
	if !ok || inner == "" {
		return text, false
	}
	i := strings.LastIndex(inner[:len(inner)-1], " (")
	if i < 0 {
		return text, false
	}
	return inner[:i], true
}

// fromLast yields the texts before and after each place of sep in text, from the last place on.
func fromLast(text, sep string) iter.Seq2[string, string] {
	return func(yield func(before, after string) bool) {
		for i := strings.LastIndex(text, sep); i >= 0; i = strings.LastIndex(text[:i], sep) {
			if !yield(text[:i], text[i+len(sep):]) {
				return
			}
		}
	}
}

// A search finds places in a text, one after the other.
type search struct {
	text       string
	start, pos int // of the last found place: its start, and where the next search starts
}

// next finds the next place of sep.
func (s *search) next(sep string) bool {
	i := strings.Index(s.text[s.pos:], sep)
	if i < 0 {
		return false
	}
	s.start = s.pos + i
	s.pos = s.start + len(sep)
	return true
}

// nextNumber finds the next \s{indent}\d+\), the form of a failure's number.
func (s *search) nextNumber(indent int) bool {
	for from := s.pos; s.next(")"); from = s.pos {
		if s.start == 0 || !mayBeDigit(s.text[s.start-1]) {
			continue
		}
		if head, ok := cutLastIndented(s.text[from:s.start], indent); ok {
			s.start = from + len(head)
			return true
		}
	}
	return false
}

// cut moves the search past the match of all steps at its position.
func (s *search) cut(steps ...step) bool {
	rest, ok := cutSteps(s.text[s.pos:], steps...)
	if ok {
		s.pos = len(s.text) - len(rest)
	}
	return ok
}

// line returns the rest of the line and moves to its end.
func (s *search) line() string {
	line, _, _ := strings.Cut(s.text[s.pos:], "\n")
	s.pos += len(line)
	return line
}
