package template

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/python"
)

type tokenKind byte

const (
	tokenEnd tokenKind = iota
	tokenText
	tokenVariable    // {{
	tokenVariableEnd // }}
	tokenBlock       // {%
	tokenBlockEnd    // %}
	tokenName
	tokenString
	tokenInt
	tokenFloat
	tokenOperator
)

type token struct {
	kind       tokenKind
	text       string
	value      any
	start, end int
}

// String names the token in an error.
func (t token) String() string {
	if t.kind == tokenEnd {
		return "the end of the template"
	}
	return strconv.Quote(t.text)
}

// lexer splits a template into tokens by the rules of Jinja2's lexer with default settings.
type lexer struct {
	source string
	pos    int
	tokens []token
}

// lex returns the tokens of a source without carriage returns. The last one is tokenEnd.
func lex(source string) []token {
	l := &lexer{source: source}
	for l.pos < len(l.source) {
		l.text()
	}
	l.add(tokenEnd, l.pos)
	return l.tokens
}

func (l *lexer) add(kind tokenKind, end int) {
	l.tokens = append(l.tokens, token{kind: kind, text: l.source[l.pos:end], start: l.pos, end: end})
	l.pos = end
}

func (l *lexer) rest() string { return l.source[l.pos:] }

var (
	anyBegin = lazy.Regexp(`\{%[-+]?\s*raw\s*(?:-%\}|%\})|\{%[-+]?|\{\{[-+]?|\{#[-+]?`)
	rawEnd   = lazy.Regexp(`\{%[-+]?\s*endraw\s*(?:\+%\}|-%\}|%\})`)
)

// text reads up to the next delimiter, and then the part that it begins.
func (l *lexer) text() {
	at := anyBegin().FindStringIndex(l.rest())
	if at == nil {
		l.add(tokenText, len(l.source))
		return
	}
	begin := l.rest()[at[0]:at[1]]
	l.data(l.pos+at[0], strings.HasPrefix(begin[2:], "-"))
	start := l.pos
	switch {
	case len(begin) > 3: // {% raw %}
		l.pos += len(begin)
		l.raw(start, strings.HasSuffix(begin, "-%}"))
	case begin[1] == '#':
		l.pos += len(begin)
		l.comment(start)
	case begin[1] == '{':
		l.add(tokenVariable, l.pos+len(begin))
		l.inside(start, "}}")
	default:
		l.add(tokenBlock, l.pos+len(begin))
		l.inside(start, "%}")
	}
}

// data adds the text before end.
func (l *lexer) data(end int, strip bool) {
	if text := l.source[l.pos:end]; text != "" {
		if strip {
			text = strings.TrimRightFunc(text, python.IsSpace)
		}
		l.tokens = append(l.tokens, token{kind: tokenText, text: text, start: l.pos, end: end})
	}
	l.pos = end
}

func (l *lexer) skipSpace() {
	l.pos = len(l.source) - len(strings.TrimLeftFunc(l.rest(), python.IsSpace))
}

func (l *lexer) raw(start int, strip bool) {
	if strip {
		l.skipSpace()
	}
	at := rawEnd().FindStringIndex(l.rest())
	if at == nil {
		panic(mistakeAt(start, "{%% raw %%} is not closed: {%% endraw %%} is missing"))
	}
	end := l.rest()[at[0]:at[1]]
	after := l.pos + at[1]
	l.data(l.pos+at[0], end[2] == '-')
	l.pos = after
	if strings.HasSuffix(end, "-%}") {
		l.skipSpace()
	}
}

func (l *lexer) comment(start int) {
	n := strings.Index(l.rest(), "#}")
	if n < 0 {
		panic(mistakeAt(start, "the comment is not closed: #} is missing"))
	}
	strip := strings.HasSuffix(l.rest()[:n], "-")
	if l.pos += n + 2; strip {
		l.skipSpace()
	}
}

var (
	nameToken    = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*`)
	floatToken   = lazy.Regexp(`^\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)`)
	integerToken = lazy.Regexp(`^(?:0|[1-9]\d*)`)
	stringToken  = lazy.Regexp(`(?s)^(?:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")`)
	operator     = lazy.Regexp(`^(?:==|!=|>=|<=|//|\*\*|[-+/*%~\[\](){}><=.:|,;])`)
)

// inside reads an expression or a tag up to its end. An end within brackets does not count.
func (l *lexer) inside(start int, end string) {
	open := 0
	for l.pos < len(l.source) {
		rest := l.rest()
		if open == 0 && l.closes(end) {
			return
		}
		switch r, size := utf8.DecodeRuneInString(rest); {
		case python.IsSpace(r):
			l.pos += size
		case r == '\'' || r == '"':
			l.quoted(rest)
		case r >= '0' && r <= '9':
			l.number(rest)
		case nameToken().MatchString(rest):
			l.add(tokenName, l.pos+len(nameToken().FindString(rest)))
		default:
			open += l.operator(rest, open)
		}
	}
	if end == "}}" {
		panic(mistakeAt(start, "the expression is not closed: }} is missing"))
	}
	panic(mistakeAt(start, "the tag is not closed: %%} is missing"))
}

func (l *lexer) closes(end string) bool {
	rest, sign := l.rest(), ""
	if strings.HasPrefix(rest, "-") || end == "%}" && strings.HasPrefix(rest, "+") {
		sign = rest[:1]
	}
	if !strings.HasPrefix(rest[len(sign):], end) {
		return false
	}
	l.add(map[string]tokenKind{"}}": tokenVariableEnd, "%}": tokenBlockEnd}[end], l.pos+len(sign)+len(end))
	if sign == "-" {
		l.skipSpace()
	}
	return true
}

func (l *lexer) quoted(rest string) {
	text := stringToken().FindString(rest)
	if text == "" {
		panic(mistakeAt(l.pos, "the string is not closed: %c is missing", rest[0]))
	}
	value, err := python.Unquote(text[1 : len(text)-1])
	if err != nil {
		panic(mistakeAt(l.pos, "a string cannot be read: %v", err))
	}
	l.add(tokenString, l.pos+len(text))
	l.tokens[len(l.tokens)-1].value = value
}

func (l *lexer) number(rest string) {
	afterDot := len(l.tokens) > 0 && l.tokens[len(l.tokens)-1].text == "." && l.tokens[len(l.tokens)-1].end == l.pos
	if text := floatToken().FindString(rest); text != "" && !afterDot {
		f, _ := strconv.ParseFloat(text, 64) // too large a number becomes infinite
		l.add(tokenFloat, l.pos+len(text))
		l.tokens[len(l.tokens)-1].value = f
		return
	}
	text := integerToken().FindString(rest)
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(mistakeAt(l.pos, "the number %s needs more than 64 bits", text))
	}
	l.add(tokenInt, l.pos+len(text))
	l.tokens[len(l.tokens)-1].value = n
}

// operator adds an operator, and returns the change in the number of open brackets.
func (l *lexer) operator(rest string, open int) int {
	op := operator().FindString(rest)
	if op == "" || open == 0 && strings.Contains(")]}", op) {
		r, _ := utf8.DecodeRuneInString(rest)
		panic(mistakeAt(l.pos, "unexpected %q", string(r)))
	}
	l.add(tokenOperator, l.pos+len(op))
	return strings.Count("([{", op) - strings.Count(")]}", op)
}

func mistakeAt(offset int, format string, args ...any) *mistake {
	return &mistake{offset: offset, text: fmt.Sprintf(format, args...)}
}
