// Package yamlpos finds where in a YAML file a part of a scalar's text stands, or a syntax
// error: the parser says only where the scalar begins, and roughly in which line the error is.
//
// Its API is not promised to other programs: see package batch.
package yamlpos

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Text is a text and the source that it was read from.
type Text struct {
	source       string
	line, column int    // of the scalar in a file, from 1; 0 of a value that is all of source
	text         string // decoded
	style        yaml.Style
}

// Of returns the text of a scalar that stands in source, a file.
func Of(source string, scalar *yaml.Node) *Text {
	return &Text{source: source, line: scalar.Line, column: scalar.Column, text: scalar.Value, style: scalar.Style}
}

// OfValue returns a text that stands in source as it is, or as a JSON string.
func OfValue(source, text string) *Text {
	t := &Text{source: source, text: text}
	if source != text {
		t.style = yaml.DoubleQuotedStyle
	}
	return t
}

// start returns where in source the scalar begins. Only a mistake asks for it, and
// nearly all texts have none.
func (t *Text) start() (at int) {
	for range t.line - 1 {
		at += strings.IndexByte(t.source[at:], '\n') + 1
	}
	for range t.column - 1 {
		_, size := utf8.DecodeRuneInString(t.source[at:])
		at += size
	}
	return at
}

// Position returns the line and the column, both from 1, at which the byte at
// offset of the text stands. A column counts characters. Where this cannot be
// found, it is the beginning of the scalar.
func (t *Text) Position(offset int) (line, column int) {
	at := t.start()
	if found, ok := t.find(at, offset); ok {
		at = found
	}
	before := t.source[:at]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// Lines is the number of lines of the source.
func (t *Text) Lines() int { return 1 + strings.Count(strings.TrimSuffix(t.source, "\n"), "\n") }

func (t *Text) find(begin, offset int) (int, bool) {
	if offset < 0 || offset > len(t.text) {
		return 0, false
	}
	for t.inFile() && begin < len(t.source) && (t.source[begin] == '!' || t.source[begin] == '&') { // a tag, an anchor
		for begin < len(t.source) && !isBlank(t.source[begin]) {
			begin++
		}
		for begin < len(t.source) && isBlank(t.source[begin]) {
			begin++
		}
	}
	switch {
	case t.style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return t.inBlock(begin, offset)
	case t.style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return t.inFlow(begin+1, offset)
	default:
		return t.inFlow(begin, offset)
	}
}

// inBlock walks through the lines behind the indicator of a block scalar. Each
// stands in the text, in order; between them, breaks may have become spaces.
func (t *Text) inBlock(begin, offset int) (int, bool) {
	next := func(from int) int {
		if i := strings.IndexByte(t.source[from:], '\n'); i >= 0 {
			return from + i + 1
		}
		return len(t.source)
	}
	indent, read := -1, 0 // read is the length of the text that was found
	for line := next(begin); line < len(t.source); line = next(line) {
		content := strings.TrimRight(t.source[line:next(line)], "\r\n")
		if strings.Trim(content, " ") == "" && (indent < 0 || len(content) <= indent) {
			continue
		}
		for read < len(t.text) && t.text[read] == '\n' {
			read++
		}
		if indent < 0 {
			indent = leading(content) - leading(t.text[read:])
		}
		if indent < 0 || len(content) < indent {
			return 0, false
		}
		content = content[indent:]
		if !strings.HasPrefix(t.text[read:], content) && strings.HasPrefix(t.text[read:], " ") {
			read++
		}
		if !strings.HasPrefix(t.text[read:], content) {
			return 0, false
		}
		if offset <= read+len(content) {
			return line + indent + max(0, offset-read), true
		}
		read += len(content)
	}
	return 0, false
}

func leading(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// inFlow walks through a plain or quoted scalar.
func (t *Text) inFlow(at, offset int) (int, bool) {
	double, single := t.style&yaml.DoubleQuotedStyle != 0, t.style&yaml.SingleQuotedStyle != 0
	for read := 0; at < len(t.source); {
		from, size := at, 0
		switch rest := t.source[at:]; {
		case t.inFile() && folded(rest) > 0:
			at += folded(rest)
			size = 1 // a break is a space, further ones are breaks
			for breaks := strings.Count(t.source[from:at], "\n"); size < breaks-1; {
				size++
			}
		case double && (strings.HasPrefix(rest, "\\\n") || strings.HasPrefix(rest, "\\\r\n")):
			at += 1 + folded(rest[1:])
		case double && rest[0] == '\\' && len(rest) > 1:
			at += escape(rest)
			_, size = utf8.DecodeRuneInString(t.text[read:])
		case single && strings.HasPrefix(rest, "''"):
			at, size = at+2, 1
		default:
			_, size = utf8.DecodeRuneInString(rest)
			at += size
			if !strings.HasPrefix(t.text[read:], rest[:size]) && offset > read {
				return 0, false
			}
		}
		if offset < read+size || offset == len(t.text) && offset == read {
			return from, true
		}
		read += size
	}
	return at, offset == len(t.text)
}

// inFile reports whether the source is YAML, with tags and folded breaks: a value of the
// command line is not.
func (t *Text) inFile() bool { return t.line > 0 }

// folded is the length of a break with the blanks around it, 0 without one.
func folded(s string) int {
	n := len(s) - len(strings.TrimLeft(s, " \t\r\n"))
	if !strings.Contains(s[:n], "\n") {
		return 0
	}
	return n
}

// escape is the length of an escape in a double-quoted scalar.
func escape(s string) int {
	n := 2
	switch s[1] {
	case 'x':
		n = 4
	case 'u':
		n = 6
	case 'U':
		n = 10
	}
	return min(n, len(s))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
