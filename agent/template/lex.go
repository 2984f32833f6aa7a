package template

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
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
	tokenBroken // its value is a *mistake
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

// lex returns the tokens of a source without carriage returns. The last one is tokenEnd or
// tokenBroken.
func lex(source string) (tokens []token) {
	l := &lexer{source: source}
	defer func() {
		if p := recover(); p != nil {
			m, ok := p.(*mistake)
			if !ok {
				panic(p)
			}
			tokens = append(l.tokens, token{kind: tokenBroken, value: m, start: m.offset, end: m.offset})
		}
	}()
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

// text reads up to the next delimiter, and then what it begins.
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
	floatToken   = lazy.Regexp(`(?i)^(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+\-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)`)
	integerToken = lazy.Regexp(`(?i)^(?:0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*)`)
	stringToken  = lazy.Regexp(`(?s)^(?:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")`)
	operator     = lazy.Regexp(`^(?:==|!=|>=|<=|//|\*\*|[-+/*%~\[\](){}><=.:|,;])`)
)

var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

// inside reads an expression or a tag up to its end, which brackets hide.
func (l *lexer) inside(start int, end string) {
	var open []string
	for l.pos < len(l.source) {
		rest := l.rest()
		if len(open) == 0 && l.closes(rest, end) {
			return
		}
		switch r, size := utf8.DecodeRuneInString(rest); {
		case python.IsSpace(r):
			l.pos += size
		case r == '\'' || r == '"':
			l.quoted(rest)
		case r >= '0' && r <= '9':
			l.number(rest)
		case isNamePart(r):
			n := strings.IndexFunc(rest, func(r rune) bool { return !isNamePart(r) })
			if n < 0 {
				n = len(rest)
			}
			l.add(tokenName, l.pos+n)
		default:
			open = l.operator(rest, open)
		}
	}
	if end == "}}" {
		panic(mistakeAt(start, "the expression is not closed: }} is missing"))
	}
	panic(mistakeAt(start, "the tag is not closed: %%} is missing"))
}

func isNamePart(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

func (l *lexer) closes(rest, end string) bool {
	kind := tokenVariableEnd
	if end == "%}" {
		kind = tokenBlockEnd
	}
	switch {
	case strings.HasPrefix(rest, end):
		l.add(kind, l.pos+2)
	case strings.HasPrefix(rest, "-"+end):
		l.add(kind, l.pos+3)
		l.skipSpace()
	case end == "%}" && strings.HasPrefix(rest, "+"+end):
		l.add(kind, l.pos+3)
	default:
		return false
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
	number := func(kind tokenKind, match *regexp.Regexp, read func(string) (any, error)) bool {
		text := match.FindString(rest)
		if text == "" {
			return false
		}
		value, err := read(strings.ReplaceAll(text, "_", ""))
		if err != nil {
			panic(mistakeAt(l.pos, "the number %s needs more than 64 bits", text))
		}
		l.add(kind, l.pos+len(text))
		l.tokens[len(l.tokens)-1].value = value
		return true
	}
	if afterDot || !number(tokenFloat, floatToken(), func(s string) (any, error) {
		f, _ := strconv.ParseFloat(s, 64) // what is too large is infinite
		return f, nil
	}) {
		number(tokenInt, integerToken(), func(s string) (any, error) {
			if strings.Trim(s, "0") == "" {
				s = "0"
			}
			n, err := strconv.ParseInt(s, 0, 64)
			return int(n), err
		})
	}
}

func (l *lexer) operator(rest string, open []string) []string {
	op := operator().FindString(rest)
	switch op {
	case "":
		r, _ := utf8.DecodeRuneInString(rest)
		panic(mistakeAt(l.pos, "unexpected %q in an expression", string(r)))
	case "(", "[", "{":
		open = append(open, closing[op])
	case ")", "]", "}":
		if len(open) == 0 {
			panic(mistakeAt(l.pos, "unexpected %q", op))
		}
		if want := open[len(open)-1]; want != op {
			panic(mistakeAt(l.pos, "expected %q, found %q", want, op))
		}
		open = open[:len(open)-1]
	}
	l.add(tokenOperator, l.pos+len(op))
	return open
}

func mistakeAt(offset int, format string, args ...any) *mistake {
	return &mistake{offset: offset, text: fmt.Sprintf(format, args...)}
}
