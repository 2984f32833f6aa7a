package logparse

import (
	"iter"
	"regexp"
	"strings"
	"sync"
	"unicode"
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
