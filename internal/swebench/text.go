package swebench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// text is JSON text that is read value by value.
type text struct {
	data  []byte
	exact []byte // like data, before [finite] replaced values; the same length
	pos   int
}

const blanks = " \t\r\n"

// rest skips blanks and returns what follows.
func (t *text) rest() []byte {
	rest := bytes.TrimLeft(t.data[t.pos:], blanks)
	t.pos = len(t.data) - len(rest)
	return rest
}

// take skips blanks, and then c if it is next. It reports whether it was.
func (t *text) take(c byte) bool {
	rest := t.rest()
	if len(rest) == 0 || rest[0] != c {
		return false
	}
	t.pos++
	return true
}

// value reads the next value and returns its position. After an error, the position does not
// change.
func (t *text) value() (start, end int, err error) {
	rest := t.rest()
	start = t.pos
	end = start + valueEnd(rest)
	if !json.Valid(t.data[start:end]) {
		var raw json.RawMessage
		d := json.NewDecoder(bytes.NewReader(rest)) // says where it is wrong
		if err := d.Decode(&raw); err != nil {
			return start, start, err
		}
		end = start + int(d.InputOffset())
	}
	t.pos = end
	return start, end, nil
}

// valueEnd returns the end of the JSON value at the beginning of text. It does not check that the
// value is valid.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
			if depth == 0 {
				return min(i+1, len(text))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			} else if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// stringEnd returns the position of the quote that ends the string at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(text)
}

// line names the line of a position.
func (t *text) line(pos int) string {
	return fmt.Sprintf("line %d", 1+bytes.Count(t.data[:min(pos, len(t.data))], []byte("\n")))
}

// all reads the rows of any form.
func (d *decoder) all() error {
	switch first := d.rest(); {
	case len(first) == 0:
		return nil
	case first[0] == '[':
		return d.entries(']')
	case first[0] != '{':
		return d.fault("", errors.New("it is neither a JSON list nor an object"))
	case d.text.isRow():
		return d.rows()
	}
	return d.entries('}')
}

// isRow reports whether t begins with a row rather than with an object of rows.
func (t text) isRow() bool {
	t.take('{')
	first := false // the first member's value is not an object: decides if the text is broken
	for n := 0; !t.take('}'); n++ {
		if n > 0 && !t.take(',') {
			return first
		}
		var name string
		if json.Unmarshal(t.skip(), &name) != nil || !t.take(':') {
			return first
		}
		object := t.next() == '{'
		if object && n == 0 && t.names(name) {
			return false
		}
		first = first || n == 0 && !object
		if rowNames[name] && !object {
			return true
		}
		t.skip()
	}
	return t.next() == '{'
}

// names reports whether the next value is a row of this instance.
func (t text) names(instance string) bool {
	start, end, err := t.value()
	if err != nil {
		return false
	}
	id, _, err := members(t.data[start:end]).text("instance_id")
	return err == nil && id == instance
}

// skip returns the next value, as [valueEnd] delimits it, and moves past it.
func (t *text) skip() []byte {
	rest := t.rest()
	end := valueEnd(rest)
	t.pos += end
	return rest[:end]
}

// rowNames are members of a row that cannot be instances in an object of rows.
var rowNames = map[string]bool{"instance_id": true, "org": true, "model_patch": true, "patch": true, "fix_patch": true}

// rows reads rows that follow each other.
func (d *decoder) rows() error {
	d.differs("is rows that follow each other")
	line, counted := 1, 0
	for len(d.rest()) > 0 {
		line += bytes.Count(d.data[counted:d.pos], []byte("\n"))
		counted = d.pos
		where := fmt.Sprintf("line %d", line)
		start, end, err := d.value()
		if err != nil {
			return d.broken(where, err)
		}
		if err := d.add(where, "", start, end); err != nil {
			return err
		}
	}
	return nil
}

// entries reads a list or an object, depending on last, its closing bracket. An instance that an
// object has twice is taken twice.
func (d *decoder) entries(last byte) error {
	if last == ']' {
		d.differs("is a list")
	}
	d.pos++ // the bracket
	d.commas(0, last)
	for n := 1; !d.take(last); n++ {
		where := fmt.Sprintf("entry %d", n)
		key, err := "", error(nil)
		if last == '}' {
			if key, err = d.key(where); err != nil {
				return err
			}
		}
		start, end, err := d.value()
		if err != nil {
			return d.broken(where, err)
		}
		if err := d.add(where, key, start, end); err != nil {
			return err
		}
		if !d.commas(n, last) && d.next() != last {
			return d.unexpected(fmt.Sprintf("entry %d", n+1), fmt.Sprintf("a comma or %c", last))
		}
	}
	if len(d.rest()) > 0 {
		return d.fault(d.line(d.pos), errors.New("text after the end of the JSON value"))
	}
	return nil
}

// next returns the next character that is not blank; 0 at the end.
func (t *text) next() byte {
	if rest := t.rest(); len(rest) > 0 {
		return rest[0]
	}
	return 0
}

// commas skips commas, and notes superfluous ones. It reports whether there was a comma.
func (d *decoder) commas(n int, last byte) bool {
	found := 0
	for ; d.next() == ','; d.pos++ {
		found++
	}
	if surplus := found > 1 || found == 1 && (n == 0 || d.next() == last); surplus && !d.surplus {
		d.surplus = true
		d.differs("has a comma too many in " + d.line(d.pos))
	}
	return found > 0
}

// key reads the instance of an object's entry.
func (d *decoder) key(where string) (string, error) {
	start, end, err := d.value()
	if err != nil {
		return "", d.broken(where, err)
	}
	key, err := readText("its name", d.data[start:end])
	if err != nil {
		return "", d.fault(where, err)
	}
	if !d.take(':') {
		return "", d.unexpected(where, "a colon")
	}
	return key, nil
}

// unexpected is the fault for a text that has something other than want at this place.
func (d *decoder) unexpected(where, want string) error {
	if len(d.rest()) == 0 {
		return d.fault(where, errCut)
	}
	return d.fault(where+", "+d.line(d.pos), fmt.Errorf("it is not JSON: expected %s", want))
}

var errCut = errors.New("the JSON text ends too early: the file is cut")

// broken is the fault for a next value that is not JSON.
func (d *decoder) broken(where string, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return d.fault(where, errCut)
	}
	if line := d.line(d.pos + int(syntax.Offset) - 1); line != where {
		where += ", " + line
	}
	return d.fault(where, fmt.Errorf("it is not JSON: %w", err))
}

// numbers and nulls are replacements for values that Python writes but JSON does not have: a number
// of the same length to parse the text, and null for [Prediction.Text].
var (
	numbers = map[string]string{"NaN": "0.0", "Infinity": "0.000000", "-Infinity": "-0.000000"}
	nulls   = map[string]string{"NaN": "null", "Infinity": "null", "-Infinity": "null"}
)

// finite returns data with each value that is a key of by replaced.
func finite(data []byte, by map[string]string) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	out := make([]byte, 0, len(data)+1)
	done, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n': // a string ends in its line
			quoted = false
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case (c == 'N' || c == 'I') && !quoted:
			start, end := wordAt(data, i)
			if other, ok := by[string(data[start:end])]; ok {
				out = append(append(out, data[done:start]...), other...)
				done = end
			}
		}
	}
	return append(out, data[done:]...)
}

// wordAt returns the range of the value whose first letter is at i. The range is empty if i is
// inside a value.
func wordAt(data []byte, i int) (start, end int) {
	start = len(bytes.TrimSuffix(data[:i], []byte("-")))
	rest := data[i:min(i+len("Infinity")+1, len(data))]
	end = i + len(rest)
	if n := bytes.IndexAny(rest, blanks+",]}"); n >= 0 {
		end = i + n
	}
	if start > 0 && bytes.IndexByte([]byte(blanks+":,["), data[start-1]) < 0 {
		return i, i
	}
	return start, end
}

// escapeBytes replaces each byte that is not UTF-8 by the escape of Python's surrogateescape. It
// returns the line of the first such byte, or 0. A byte after a backslash stays, since it is not
// JSON there.
func escapeBytes(data []byte) (escaped []byte, line int) {
	if utf8.Valid(data) {
		return data, 0
	}
	backslash := false
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 && !backslash {
			if line == 0 {
				line = 1 + bytes.Count(data[:i], []byte("\n"))
				escaped = append(make([]byte, 0, len(data)+len(data)/8), data[:i]...)
			}
			escaped = fmt.Appendf(escaped, `\udc%02x`, data[i])
		} else if line > 0 {
			escaped = append(escaped, data[i:i+size]...)
		}
		backslash = data[i] == '\\' && !backslash
		i += size
	}
	if line == 0 {
		return data, 0
	}
	return escaped, line
}
