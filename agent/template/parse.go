package template

import (
	"fmt"
	"slices"
	"strings"
)

// parser is a recursive-descent parser with the grammar of Jinja2's.
type parser struct {
	source string
	tokens []token // the last one repeats
	open   []openTag
	depth  int
	names  map[string]bool // that have been read since the innermost macro began
	blocks map[string]*blockTag
}

type openTag struct {
	name  string
	start int
}

// maxDepth bounds expressions and tags within each other. Jinja2 reaches the limit of
// Python's stack earlier.
const maxDepth = 200

func (p *parser) deeper() {
	if p.depth++; p.depth > maxDepth {
		panic(mistakeAt(p.peek().start, "more than %d expressions or tags within each other", maxDepth))
	}
}

func (p *parser) peek() token {
	t := p.tokens[0]
	if m, ok := t.value.(*mistake); ok {
		panic(m)
	}
	return t
}

func (p *parser) next() token {
	t := p.peek()
	if len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) is(kind tokenKind, text string) bool {
	t := p.peek()
	return t.kind == kind && t.text == text
}

func (p *parser) isOp(text string) bool   { return p.is(tokenOperator, text) }
func (p *parser) isName(text string) bool { return p.is(tokenName, text) }

func (p *parser) skip(kind tokenKind, text string) bool {
	if p.is(kind, text) {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipOp(text string) bool   { return p.skip(tokenOperator, text) }
func (p *parser) skipName(text string) bool { return p.skip(tokenName, text) }

func (p *parser) expectOp(text string) token {
	if !p.isOp(text) {
		p.unexpected(fmt.Sprintf("%q", text))
	}
	return p.next()
}

func (p *parser) expectName(what string) token {
	if p.peek().kind != tokenName {
		p.unexpected(what)
	}
	return p.next()
}

// unexpected refuses the next token. In a tag, it names the tag.
func (p *parser) unexpected(want string) {
	t := p.peek()
	if t.kind == tokenBlockEnd && len(p.open) > 0 {
		panic(mistakeAt(t.start, "{%% %s %%} is not complete", p.open[len(p.open)-1].name))
	}
	panic(mistakeAt(t.start, "expected %s, found %s", want, t))
}

func (p *parser) expression() expr { return p.condition() }

func (p *parser) condition() expr {
	p.deeper()
	defer func() { p.depth-- }()
	e := p.or()
	for p.isName("if") {
		at := p.next().start
		c := &conditional{then: e, test: p.or()}
		if p.skipName("else") {
			c.otherwise = p.condition()
		}
		c.span = p.from(e, at)
		e = c
	}
	return e
}

// from is the span from the begin of first to the last token that was read.
func (p *parser) from(first expr, at int) span {
	return span{start: first.where().start, end: p.end(), at: at}
}

// end is the end of the last token that was read.
func (p *parser) end() int {
	text := strings.TrimRight(p.source[:p.tokens[0].start], " \t\n")
	return len(text)
}

func (p *parser) or() expr {
	e := p.and()
	for p.isName("or") {
		at := p.next().start
		e = &logic{or: true, left: e, right: p.and(), span: p.from(e, at)}
	}
	return e
}

func (p *parser) and() expr {
	e := p.not()
	for p.isName("and") {
		at := p.next().start
		e = &logic{left: e, right: p.not(), span: p.from(e, at)}
	}
	return e
}

func (p *parser) not() expr {
	if !p.isName("not") {
		return p.compare()
	}
	p.deeper()
	defer func() { p.depth-- }()
	at := p.next().start
	of := p.not()
	return &negation{of: of, span: span{start: at, end: of.where().end, at: at}}
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) compare() expr {
	first := p.sum()
	c := &comparison{first: first}
	for {
		t := p.peek()
		op := t.text
		switch {
		case t.kind == tokenOperator && slices.Contains(comparisons, op), p.isName("in"):
			p.next()
		case p.isName("not") && len(p.tokens) > 1 && p.tokens[1].kind == tokenName && p.tokens[1].text == "in":
			p.next()
			p.next()
			op = "not in"
		default:
			if len(c.ops) == 0 {
				return first
			}
			c.span = p.from(first, c.at)
			return c
		}
		c.ops, c.offsets, c.rest = append(c.ops, op), append(c.offsets, t.start), append(c.rest, p.sum())
	}
}

// binary parses operators of one level, from left to right.
func (p *parser) binary(operand func() expr, ops ...string) expr {
	e := operand()
	for t := p.peek(); t.kind == tokenOperator && slices.Contains(ops, t.text); t = p.peek() {
		p.next()
		e = &binary{op: t.text, left: e, right: operand(), span: p.from(e, t.start)}
	}
	return e
}

func (p *parser) sum() expr     { return p.binary(p.concat, "+", "-") }
func (p *parser) concat() expr  { return p.binary(p.product, "~") }
func (p *parser) product() expr { return p.binary(p.power, "*", "/", "//", "%") }
func (p *parser) power() expr   { return p.binary(func() expr { return p.unary(true) }, "**") }

func (p *parser) unary(filters bool) expr {
	var e expr
	if t := p.peek(); t.kind == tokenOperator && (t.text == "-" || t.text == "+") {
		p.deeper()
		defer func() { p.depth-- }()
		p.next()
		of := p.unary(false)
		e = &sign{op: t.text, of: of, span: span{start: t.start, end: of.where().end, at: t.start}}
	} else {
		e = p.primary()
	}
	e = p.postfix(e)
	if filters {
		e = p.filtersAndTests(e)
	}
	return e
}
