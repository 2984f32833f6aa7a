package template

import (
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/internal/near"
)

var tagNames = strings.Fields("autoescape block call elif else endautoescape endblock endcall endfilter endfor endif endmacro endset endwith filter for if macro print raw set with")

// body parses text, expressions and tags up to one of the tags ends or the end of the
// template. It reads the name of the end tag.
func (p *parser) body(ends ...string) (list []statement, end string) {
	p.deeper()
	defer func() { p.depth-- }()
	for {
		t := p.next()
		switch t.kind {
		case tokenText:
			if t.text != "" {
				list = append(list, text(t.text))
			}
		case tokenVariable:
			e := p.tuple(p.expression, false)
			if p.peek().kind != tokenVariableEnd {
				p.unexpected(`"}}"`)
			}
			p.next()
			list = append(list, output{e})
		case tokenBlock:
			name := p.peek()
			if name.kind == tokenName && slices.Contains(ends, name.text) {
				p.next()
				return list, name.text
			}
			list = append(list, p.tag(t.start)...)
		default:
			if len(ends) > 0 {
				tag := p.open[len(p.open)-1]
				panic(mistakeAt(tag.start, "{%% %s %%} is not closed: {%% end%s %%} is missing", tag.name, tag.name))
			}
			return list, ""
		}
	}
}

func (p *parser) tag(start int) []statement {
	name := p.expectName("the name of a tag, such as if")
	parse := map[string]func(openTag) []statement{
		"if": p.ifTag, "for": p.forTag, "set": p.setTag, "macro": p.macroTag, "call": p.callTag, "filter": p.filterTag,
		"with": p.withTag, "block": p.blockTag, "autoescape": p.autoescapeTag, "print": p.printTag,
	}[name.text]
	switch {
	case slices.Contains([]string{"include", "import", "extends", "from"}, name.text):
		panic(mistakeAt(start, "{%% %s %%} has no other template to read", name.text))
	case parse == nil:
		panic(p.unknownTag(name.start, name.text))
	}
	tag := openTag{name.text, start}
	p.open = append(p.open, tag)
	list := parse(tag)
	p.endOfTag()
	p.open = p.open[:len(p.open)-1]
	return list
}

func (p *parser) endOfTag() {
	if t := p.peek(); t.kind != tokenBlockEnd {
		panic(mistakeAt(t.start, "unexpected %s in {%% %s %%}", t, p.open[len(p.open)-1].name))
	}
	p.next()
}

// block parses the rest of a tag, and what it encloses.
func (p *parser) block(ends ...string) (list []statement, end string) {
	p.skipOp(":")
	p.endOfTag()
	return p.body(ends...)
}

// unknownTag refuses a tag that does not exist or is not allowed at this place.
func (p *parser) unknownTag(offset int, name string) *mistake {
	m := mistakeAt(offset, "unknown tag {%% %s %%}", name)
	m.hint = near.Hint(near.Name(name, tagNames), "")
	opens, closes := strings.CutPrefix(name, "end")
	switch {
	case name == "do" || name == "break" || name == "continue" || name == "trans" || name == "debug":
		m.hint = "it belongs to an extension of Jinja2 that mini-swe-agent does not load"
	case name == "else" || name == "elif":
		m.text, m.hint = fmt.Sprintf("{%% %s %%} without an open {%% if %%}", name), ""
	case closes && slices.Contains(tagNames, name) && len(p.open) > 0:
		m.text, m.hint = fmt.Sprintf("{%% %s %%} found, expected {%% end%s %%}", name, p.open[len(p.open)-1].name), ""
	case closes && slices.Contains(tagNames, name):
		m.text, m.hint = fmt.Sprintf("{%% %s %%} without an open {%% %s %%}", name, opens), ""
	}
	return m
}

// plainTuple parses what follows if, in and set, where a condition is not possible.
func (p *parser) plainTuple() expr { return p.tuple(p.or, false) }

func (p *parser) ifTag(openTag) []statement {
	result := &ifTag{}
	for {
		test := p.plainTuple()
		body, end := p.block("elif", "else", "endif")
		result.tests, result.bodies = append(result.tests, test), append(result.bodies, body)
		switch end {
		case "else":
			result.otherwise, _ = p.block("endif")
			return []statement{result}
		case "endif":
			return []statement{result}
		}
	}
}

func (p *parser) forTag(openTag) []statement {
	f := &forTag{target: p.target()}
	if !p.skipName("in") {
		p.unexpected(`"in"`)
	}
	f.items = p.plainTuple()
	if p.skipName("if") {
		f.test = p.expression()
	}
	f.recursive = p.skipName("recursive")
	var end string
	if f.body, end = p.block("endfor", "else"); end == "else" {
		f.otherwise, _ = p.block("endfor")
	}
	return []statement{f}
}

// target parses what a value is assigned to: a name, a member of a namespace, or several.
func (p *parser) target() target {
	start := p.peek().start
	e := p.tuple(p.targetPart, false)
	return p.asTarget(e, start)
}

func (p *parser) targetPart() expr {
	e := p.primary()
	if v, ok := e.(*variable); ok && p.isOp(".") && p.open[len(p.open)-1].name == "set" {
		p.next()
		name := p.expectName("a name")
		return &attribute{of: v, name: name.text, span: p.from(v, name.start)}
	}
	return e
}

func (p *parser) asTarget(e expr, start int) target {
	switch e := e.(type) {
	case *variable:
		return target{name: e.name, at: e.at}
	case *attribute:
		of, _ := e.of.(*variable)
		return target{of: of, name: e.name, at: e.at}
	case *tupleOf:
		t := target{at: e.at, parts: []target{}}
		for _, part := range e.items {
			t.parts = append(t.parts, p.asTarget(part, part.where().start))
		}
		return t
	}
	panic(mistakeAt(start, "nothing can be assigned to %s", p.source[e.where().start:e.where().end]))
}

func (p *parser) setTag(openTag) []statement {
	t := p.target()
	if p.skipOp("=") {
		return []statement{&setTag{target: t, value: p.tuple(p.expression, false)}}
	}
	s := &setBlock{target: t}
	for p.isOp("|") {
		s.filters = append(s.filters, p.blockFilter())
	}
	s.body, _ = p.block("endset")
	return []statement{s}
}

func (p *parser) blockFilter() *filterOf {
	f, _ := p.filter(nil).(*filterOf)
	return f
}

func (p *parser) filterTag(openTag) []statement {
	f := &filterTag{filters: []*filterOf{p.blockFilter()}}
	for p.isOp("|") {
		f.filters = append(f.filters, p.blockFilter())
	}
	f.body, _ = p.block("endfilter")
	return []statement{f}
}

func (p *parser) macroTag(openTag) []statement {
	name := p.expectName("the name of the macro")
	m := &macroTag{name: name.text}
	p.parameters(m)
	p.macroBody(m, "endmacro")
	return []statement{m}
}

func (p *parser) parameters(m *macroTag) {
	p.expectOp("(")
	p.list(")", func() expr {
		name := p.expectName("the name of a parameter")
		var value expr
		if p.skipOp("=") {
			value = p.expression()
		} else if len(m.defaults) > 0 && m.defaults[len(m.defaults)-1] != nil {
			panic(mistakeAt(name.start, "the parameter %s needs a default: the one before has one", name.text))
		}
		m.params, m.defaults = append(m.params, name.text), append(m.defaults, value)
		return nil
	})
}

func (p *parser) macroBody(m *macroTag, end string) {
	outer := p.names
	p.names = map[string]bool{}
	m.body, _ = p.block(end)
	given := func(name string) bool { return p.names[name] && !slices.Contains(m.params, name) }
	m.caller, m.varargs, m.kwargs = given("caller"), given("varargs"), given("kwargs")
	for name := range p.names {
		outer[name] = true
	}
	p.names = outer
}

func (p *parser) callTag(tag openTag) []statement {
	m := &macroTag{}
	if p.isOp("(") {
		p.parameters(m)
	}
	start := p.peek().start
	of, ok := p.expression().(*call)
	if !ok {
		panic(mistakeAt(start, "expected the call of a macro"))
	}
	p.macroBody(m, "endcall")
	return []statement{&callTag{call: of, caller: m}}
}

func (p *parser) withTag(openTag) []statement {
	w := &withTag{}
	for first := true; p.peek().kind != tokenBlockEnd && !p.isOp(":"); first = false {
		if !first {
			p.expectOp(",")
		}
		start := p.peek().start
		w.targets = append(w.targets, p.asTarget(p.primary(), start))
		p.expectOp("=")
		w.values = append(w.values, p.expression())
	}
	w.body, _ = p.block("endwith")
	return []statement{w}
}

func (p *parser) blockTag(openTag) []statement {
	name := p.expectName("the name of the block")
	if p.blocks[name.text] != nil {
		panic(mistakeAt(name.start, "the block %s is there twice", name.text))
	}
	b := &blockTag{}
	p.blocks[name.text] = b
	b.scoped = p.skipName("scoped")
	if p.isName("required") {
		panic(mistakeAt(p.peek().start, "a required block needs another template, and there is not one"))
	}
	b.body, _ = p.block("endblock")
	p.skipName(name.text)
	return []statement{b}
}

func (p *parser) autoescapeTag(openTag) []statement {
	start := p.peek().start
	if c, ok := p.expression().(*constant); !ok || truth(c.value) {
		panic(mistakeAt(start, "{%% autoescape %%} is supported only as {%% autoescape false %%}; the filter e escapes"))
	}
	w := &withTag{}
	w.body, _ = p.block("endautoescape")
	return []statement{w}
}

func (p *parser) printTag(openTag) (list []statement) {
	for p.peek().kind != tokenBlockEnd {
		if len(list) > 0 {
			p.expectOp(",")
		}
		list = append(list, output{p.expression()})
	}
	return list
}
