package python

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// List reads a list of strings: JSON, or what Python prints for a
// list, with either quote and Python's escapes. Text that is valid JSON is read as
// JSON. Items are never trimmed; those without escapes share text's memory.
// For blank text, List returns nil and no error.
func List(text string) ([]string, error) {
	if strings.Trim(text, blanks) == "" {
		return nil, nil
	}
	ids, err := (&listScanner{cursor: cursor{text: text}}).list()
	if err == nil {
		return ids, nil
	}
	return (&listScanner{cursor: cursor{text: text}, python: true}).list()
}

type listScanner struct {
	cursor
	python bool // allow both quotes, Python's escapes, and a comma after the last element
}

func (s *listScanner) list() ([]string, error) {
	if !s.take('[') {
		return nil, s.want("[")
	}
	ids := make([]string, 0, 1+strings.Count(s.text, ", "))
	for {
		if s.take(']') && (len(ids) == 0 || s.python) {
			break
		}
		id, err := s.quoted()
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		if s.take(',') {
			continue
		}
		if !s.take(']') {
			return nil, s.want(", or ]")
		}
		break
	}
	s.blank()
	if s.pos < len(s.text) {
		return nil, s.want("the end")
	}
	return ids, nil
}

func (s *listScanner) quoted() (string, error) {
	s.blank()
	if s.pos >= len(s.text) || s.text[s.pos] != '"' && (!s.python || s.text[s.pos] != '\'') {
		return "", s.want("a quoted string")
	}
	quote := s.text[s.pos]
	s.pos++
	var out []byte // the text up to the last escape, decoded
	for escaped := false; ; escaped = true {
		start := s.pos
		if err := s.plain(quote); err != nil {
			return "", err
		}
		run := s.text[start : s.pos-1]
		if s.text[s.pos-1] == quote {
			if !escaped {
				return run, nil
			}
			return string(append(out, run...)), nil
		}
		var err error
		if out, err = s.escape(append(out, run...)); err != nil {
			return "", err
		}
	}
}

// ordinary are the characters that neither end what is quoted nor escape anything: nearly all of
// a list of tests.
var ordinary = func() (is [256]bool) {
	for c := ' '; c < 256; c++ {
		is[c] = c != '"' && c != '\'' && c != '\\'
	}
	return is
}()

// plain skips the characters before the next quote or backslash, and that one too.
func (s *listScanner) plain(quote byte) error {
	text := s.text
	for i := s.pos; i < len(text); i++ {
		c := text[i]
		if ordinary[c] {
			continue
		}
		switch {
		case c == quote, c == '\\':
			s.pos = i + 1
			return nil
		case c >= ' ': // the other quote
		case c == '\n' || !s.python: // between quotes, JSON does not allow control characters, Python no line ends
			return fmt.Errorf("byte %d is a raw control character", i+1)
		}
	}
	return errors.New("a quote is not closed")
}

// escape appends the character of the escape after a backslash.
func (s *listScanner) escape(out []byte) ([]byte, error) {
	if s.pos >= len(s.text) {
		return nil, errors.New("the text ends with a backslash")
	}
	c := s.text[s.pos]
	s.pos++
	if i := strings.IndexByte(`"\bfnrt`, c); i >= 0 {
		return append(out, "\"\\\b\f\n\r\t"[i]), nil
	}
	if c == 'u' {
		return s.unicode(out, 4)
	}
	if !s.python {
		if c == '/' {
			return append(out, c), nil
		}
		return nil, fmt.Errorf(`\%c is not a JSON escape`, c)
	}
	return s.pythonEscape(out, c)
}

// pythonEscape handles the escapes that only Python has
// (docs.python.org/3/reference/lexical_analysis.html#escape-sequences).
func (s *listScanner) pythonEscape(out []byte, c byte) ([]byte, error) {
	switch c {
	case '\'':
		return append(out, c), nil
	case 'a':
		return append(out, '\a'), nil
	case 'v':
		return append(out, '\v'), nil
	case '\n':
		return out, nil
	case 'x':
		return s.unicode(out, 2)
	case 'U':
		return s.unicode(out, 8)
	case 'N':
		return nil, errors.New(`\N{name} is not supported`)
	}
	if c < '0' || c > '7' {
		return append(out, '\\', c), nil // Python keeps the backslash of an escape it does not know
	}
	n := rune(c - '0')
	for i := 0; i < 2 && s.pos < len(s.text) && s.text[s.pos] >= '0' && s.text[s.pos] <= '7'; i++ {
		n = n*8 + rune(s.text[s.pos]-'0')
		s.pos++
	}
	return utf8.AppendRune(out, n), nil
}

// unicode appends the code point with the number in the next digits hexadecimal digits. If
// that is the first half of a surrogate pair, it also reads the second half.
func (s *listScanner) unicode(out []byte, digits int) ([]byte, error) {
	r, err := s.hex(digits)
	if err != nil {
		return nil, err
	}
	if utf16.IsSurrogate(r) {
		if !strings.HasPrefix(s.text[s.pos:], `\u`) {
			return nil, fmt.Errorf(`\u%04x is half a character`, r)
		}
		s.pos += 2
		low, err := s.hex(4)
		if err != nil {
			return nil, err
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return nil, errors.New("two surrogates that do not form a pair")
		}
	}
	if !utf8.ValidRune(r) {
		return nil, fmt.Errorf("%#x is not a character", r)
	}
	return utf8.AppendRune(out, r), nil
}

func (s *listScanner) hex(digits int) (rune, error) {
	if len(s.text)-s.pos < digits {
		return 0, errors.New("an escape is incomplete")
	}
	n, err := strconv.ParseUint(s.text[s.pos:s.pos+digits], 16, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a hexadecimal number", s.text[s.pos:s.pos+digits])
	}
	s.pos += digits
	return rune(n), nil
}

// Unquote returns the string that Python writes between quotes as text.
func Unquote(text string) (string, error) {
	s := &listScanner{cursor: cursor{text: text}, python: true}
	var out []byte
	for {
		n := strings.IndexByte(text[s.pos:], '\\')
		if n < 0 {
			return string(append(out, text[s.pos:]...)), nil
		}
		out = append(out, text[s.pos:s.pos+n]...)
		s.pos += n + 1
		var err error
		if out, err = s.escape(out); err != nil {
			return "", err
		}
	}
}
