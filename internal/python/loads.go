package python

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Loader reads JSON text value by value, and accepts what Python's json.loads accepts: unlike
// JSON, Python has NaN and infinities. Errors say where the text is wrong.
type Loader struct {
	cursor
	depth int
}

// NewLoader returns a Loader at the start of text.
func NewLoader(text string) *Loader { return &Loader{cursor: cursor{text: text}} }

// Python gives up at values nested deeper than its stack, and at longer whole numbers.
const (
	maxDepth  = 990
	maxDigits = 4300
)

// Next returns the first byte of the next value, 0 at the end of the text.
func (l *Loader) Next() byte {
	if l.blank(); l.pos < len(l.text) {
		return l.text[l.pos]
	}
	return 0
}

// End returns an error if anything but blanks follows.
func (l *Loader) End() error {
	if l.blank(); l.pos < len(l.text) {
		return l.want("the end")
	}
	return nil
}

// Value reads the next value, whatever it is, and returns its text.
func (l *Loader) Value() (text string, err error) {
	next := l.Next()
	start := l.pos
	switch next {
	case '{':
		err = l.Object(func(string) error { return l.skip() })
	case '[':
		err = l.List(l.skip)
	case '"':
		err = l.skipString()
	default:
		err = l.scalar()
	}
	return l.text[start:l.pos], err
}

func (l *Loader) skip() error {
	_, err := l.Value()
	return err
}

// Object reads an object. It calls member after each key, to read the key's value. Of equal
// keys, the last is the one that counts in Python.
func (l *Loader) Object(member func(key string) error) error {
	return l.enclosed('{', '}', func() error {
		key, err := l.Text()
		if err != nil {
			return err
		}
		if !l.take(':') {
			return l.want(":")
		}
		return member(key)
	})
}

// List reads a list. It calls element to read each of its values.
func (l *Loader) List(element func() error) error { return l.enclosed('[', ']', element) }

// enclosed reads what element reads, any number of times, with commas in between.
func (l *Loader) enclosed(first, last byte, element func() error) error {
	if l.depth > maxDepth {
		return errors.New("it is nested too deep")
	}
	if !l.take(first) {
		return l.want(string(first))
	}
	if l.take(last) {
		return nil
	}
	l.depth++
	defer func() { l.depth-- }()
	for {
		if err := element(); err != nil {
			return err
		}
		if l.take(last) {
			return nil
		}
		if !l.take(',') {
			return l.want(", or " + string(last))
		}
	}
}

// Text reads a string.
func (l *Loader) Text() (string, error) {
	l.blank()
	start := l.pos
	err := l.skipString()
	if err != nil {
		return "", err
	}
	return unquote(l.text[start:l.pos]), nil
}

func (l *Loader) skipString() error {
	if l.pos >= len(l.text) || l.text[l.pos] != '"' {
		return l.want(`"`)
	}
	for l.pos++; l.pos < len(l.text); l.pos++ {
		switch c := l.text[l.pos]; {
		case c == '"':
			l.pos++
			return nil
		case c < ' ':
			return l.want("no control character in a string")
		case c == '\\':
			if err := l.skipEscape(); err != nil {
				return err
			}
		}
	}
	return l.want(`"`)
}

// skipEscape moves from the backslash to the escape's last character.
func (l *Loader) skipEscape() error {
	if l.pos++; l.pos >= len(l.text) {
		return l.want("an escape")
	}
	if l.text[l.pos] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, l.text[l.pos]) < 0 {
			return l.want("an escape")
		}
		return nil
	}
	if _, ok := hex4(l.text[l.pos+1:]); !ok {
		return l.want("u and four hexadecimal digits")
	}
	l.pos += 4
	return nil
}

func hex4(text string) (rune, bool) {
	if len(text) < 4 || strings.Trim(text[:4], "0123456789abcdefABCDEF") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text[:4], 16, 16)
	return rune(n), err == nil
}

// unquote decodes a string that skipString accepts. Half a surrogate pair, which Python keeps,
// becomes U+FFFD.
func unquote(quoted string) string {
	text := quoted[1 : len(quoted)-1]
	i := strings.IndexByte(text, '\\')
	if i < 0 {
		return text
	}
	b := make([]byte, 0, len(text))
	for ; i >= 0; i = strings.IndexByte(text, '\\') {
		b = append(b, text[:i]...)
		c := text[i+1]
		text = text[i+2:]
		if c != 'u' {
			b = append(b, "\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, c)])
			continue
		}
		r, _ := hex4(text)
		text = text[4:]
		if low, ok := lowSurrogate(text); ok && utf16.IsSurrogate(r) {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				r, text = pair, text[6:]
			}
		}
		b = utf8.AppendRune(b, r)
	}
	return string(append(b, text...))
}

func lowSurrogate(text string) (rune, bool) {
	digits, ok := strings.CutPrefix(text, `\u`)
	if !ok {
		return 0, false
	}
	return hex4(digits)
}

var constants = []string{"null", "true", "false", "NaN", "Infinity", "-Infinity"}

// scalar skips a number or a word.
func (l *Loader) scalar() error {
	text := l.text[l.pos:]
	for _, w := range constants {
		if strings.HasPrefix(text, w) {
			l.pos += len(w)
			return nil
		}
	}
	rest := strings.TrimPrefix(text, "-")
	whole := cutASCIIDigits(rest)
	switch digits := len(rest) - len(whole); {
	case digits == 0:
		return l.want("a value")
	case rest[0] == '0':
		whole = rest[1:]
	}
	end := cutExponent(cutFraction(whole))
	if len(end) == len(whole) && len(rest)-len(whole) > maxDigits {
		return fmt.Errorf("a number has more than %d digits", maxDigits)
	}
	l.pos = len(l.text) - len(end)
	return nil
}

func cutASCIIDigits(text string) (rest string) { return strings.TrimLeft(text, "0123456789") }

func cutFraction(text string) (rest string) {
	if digits, ok := strings.CutPrefix(text, "."); ok {
		if rest := cutASCIIDigits(digits); len(rest) < len(digits) {
			return rest
		}
	}
	return text
}

func cutExponent(text string) (rest string) {
	if text == "" || text[0] != 'e' && text[0] != 'E' {
		return text
	}
	digits := text[1:]
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		digits = digits[1:]
	}
	if rest := cutASCIIDigits(digits); len(rest) < len(digits) {
		return rest
	}
	return text
}

// blanks is the white space of JSON, and all that Python prints between values.
const blanks = " \t\r\n"

// cursor is a position in a text of values.
type cursor struct {
	text string
	pos  int
}

func (c *cursor) blank() {
	for ; c.pos < len(c.text); c.pos++ {
		switch c.text[c.pos] {
		case ' ', '\t', '\r', '\n':
		default:
			return
		}
	}
}

// take skips blanks, and then b if it comes next. It reports whether it did.
func (c *cursor) take(b byte) bool {
	c.blank()
	if c.pos < len(c.text) && c.text[c.pos] == b {
		c.pos++
		return true
	}
	return false
}

func (c *cursor) want(what string) error {
	if c.pos >= len(c.text) {
		return fmt.Errorf("unexpected end, expected %s", what)
	}
	return fmt.Errorf("byte %d is %.20q, expected %s", c.pos+1, c.text[c.pos:], what)
}
