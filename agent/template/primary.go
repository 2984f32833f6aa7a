package template

import (
	"slices"

	"batch.example/batch/internal/near"
)

func (p *parser) primary() expr {
	t := p.peek()
	at := span{start: t.start, end: t.end, at: t.start}
	switch {
	case t.kind == tokenName:
		p.next()
		switch t.text {
		case "true", "True":
			return &constant{value: true, span: at}
		case "false", "False":
			return &constant{value: false, span: at}
		case "none", "None":
			return &constant{span: at}
		}
		p.names[t.text] = true
		return &variable{name: t.text, span: at}
	case t.kind == tokenString:
		text := ""
		for p.peek().kind == tokenString {
			s, _ := p.next().value.(string)
			text += s
		}
		at.end = p.end()
		return &constant{value: text, span: at}
	case t.kind == tokenInt || t.kind == tokenFloat:
		p.next()
		return &constant{value: t.value, span: at}
	case p.skipOp("("):
		e := p.tuple(p.expression, true)
		p.expectOp(")")
		return e
	case p.skipOp("["):
		items := p.list("]", p.expression)
		at.end = p.end()
		return &listOf{items: items, span: at}
	case p.skipOp("{"):
		d := &dictOf{}
		p.list("}", func() expr {
			key := p.expression()
			p.expectOp(":")
			d.keys, d.values = append(d.keys, key), append(d.values, p.expression())
			return key
		})
		at.end = p.end()
		d.span = at
		return d
	}
	p.unexpected("a value")
	return nil
}

func (p *parser) list(end string, item func() expr) (items []expr) {
	for !p.isOp(end) {
		if len(items) > 0 {
			p.expectOp(",")
			if p.isOp(end) {
				break
			}
		}
		items = append(items, item())
	}
	p.expectOp(end)
	return items
}

// tuple parses one value, or several with commas. Within parentheses, it may be empty.
func (p *parser) tuple(item func() expr, parentheses bool) expr {
	start := p.peek().start
	var items []expr
	comma := false
	for {
		t := p.peek()
		if t.kind == tokenVariableEnd || t.kind == tokenBlockEnd || t.kind == tokenOperator && t.text == ")" {
			break
		}
		items = append(items, item())
		if !p.skipOp(",") {
			break
		}
		comma = true
	}
	switch {
	case !comma && len(items) == 1:
		return items[0]
	case len(items) == 0 && !parentheses:
		p.unexpected("a value")
	}
	return &tupleOf{items: items, span: span{start: start, end: p.end(), at: start}}
}

func (p *parser) postfix(e expr) expr {
	for {
		switch {
		case p.isOp("."), p.isOp("["):
			e = p.member(e)
		case p.isOp("("):
			e = p.call(e)
		default:
			return e
		}
	}
}

func (p *parser) member(of expr) expr {
	if p.skipOp("[") {
		at := p.peek().start
		items := p.list("]", p.subscript)
		var key expr
		switch len(items) {
		case 0:
			panic(mistakeAt(at, `expected a value, found "]"`))
		case 1:
			key = items[0]
		default:
			key = &tupleOf{items: items, span: span{start: at, end: p.end(), at: at}}
		}
		return &item{of: of, key: key, span: p.from(of, at)}
	}
	p.next()
	t := p.peek()
	switch t.kind {
	case tokenName:
		p.next()
		return &attribute{of: of, name: t.text, span: p.from(of, t.start)}
	case tokenInt:
		p.next()
		key := &constant{value: t.value, span: span{start: t.start, end: t.end, at: t.start}}
		return &item{of: of, key: key, span: p.from(of, t.start)}
	}
	p.unexpected("a name")
	return nil
}

func (p *parser) subscript() expr {
	start := p.peek().start
	part := func() expr {
		if p.isOp(":") || p.isOp("]") || p.isOp(",") {
			return nil
		}
		return p.expression()
	}
	first := part()
	if !p.skipOp(":") {
		if first == nil {
			p.unexpected("a value")
		}
		return first
	}
	s := &sliceOf{parts: [3]expr{first, part(), nil}}
	if p.skipOp(":") {
		s.parts[2] = part()
	}
	s.span = span{start: start, end: p.end(), at: start}
	return s
}

func (p *parser) filtersAndTests(e expr) expr {
	for {
		switch {
		case p.isOp("|"):
			e = p.filter(e)
		case p.isName("is"):
			e = p.test(e)
		case p.isOp("("):
			e = p.call(e)
		default:
			return e
		}
	}
}

func (p *parser) call(of expr) expr {
	root := of
	if a, ok := of.(*attribute); ok {
		root = a.of
	}
	if v, ok := root.(*variable); ok && slices.Contains([]string{"lipsum", "self", "super"}, v.name) {
		panic(mistakeAt(v.at, "the function %s is not supported", v.name))
	}
	args := p.arguments()
	return &call{of: of, args: args, span: p.from(of, of.where().at)}
}

func (p *parser) arguments() (a arguments) {
	start := p.expectOp("(")
	valid := func(ok bool) {
		if !ok {
			panic(mistakeAt(start.start, "the arguments are not in order: positional ones, named ones, *list, **dict"))
		}
	}
	for first := true; !p.isOp(")"); first = false {
		if !first {
			p.expectOp(",")
			if p.isOp(")") {
				break
			}
		}
		switch {
		case p.skipOp("*"):
			valid(a.star == nil && a.stars == nil)
			a.star = p.expression()
		case p.skipOp("**"):
			valid(a.stars == nil)
			a.stars = p.expression()
		case p.peek().kind == tokenName && len(p.tokens) > 1 && p.tokens[1].kind == tokenOperator && p.tokens[1].text == "=":
			valid(a.stars == nil)
			name := p.next()
			p.next()
			if slices.Contains(a.names, name.text) {
				panic(mistakeAt(name.start, "the argument %q is given twice", name.text))
			}
			a.names, a.named = append(a.names, name.text), append(a.named, p.expression())
		default:
			valid(a.star == nil && a.stars == nil && len(a.named) == 0)
			a.list = append(a.list, p.expression())
		}
	}
	p.expectOp(")")
	return a
}

// filter parses one filter; of is nil for the text of a block.
func (p *parser) filter(of expr) expr {
	p.skipOp("|")
	t := p.expectName("the name of a filter")
	known, ok := filters()[t.text]
	if !ok {
		panic(unknownFilter(t.start, t.text))
	}
	f := &filterOf{of: of, name: t.text, run: known}
	if p.isOp("(") {
		f.args = p.arguments()
	}
	if f.span = (span{start: t.start, end: p.end(), at: t.start}); of != nil {
		f.span.start = of.where().start
	}
	return f
}

func (p *parser) test(of expr) expr {
	p.next()
	not := p.skipName("not")
	t := p.expectName("the name of a test")
	known, ok := tests()[t.text]
	if !ok {
		panic(unknownTest(t.start, t.text))
	}
	test := &testOf{of: of, name: t.text, run: known}
	next := p.peek()
	switch {
	case p.isOp("("):
		test.args = p.arguments()
	case next.kind == tokenName && (next.text == "else" || next.text == "or" || next.text == "and"):
	case p.isName("is"):
		panic(mistakeAt(next.start, "a test of a test needs parentheses"))
	case next.kind == tokenName, next.kind == tokenString, next.kind == tokenInt, next.kind == tokenFloat, p.isOp("["), p.isOp("{"):
		test.args.list = []expr{p.postfix(p.primary())}
	}
	test.span = p.from(of, t.start)
	if not {
		return &negation{of: test, span: test.span}
	}
	return test
}

func unknownFilter(offset int, name string) *mistake {
	m := mistakeAt(offset, "unknown filter %q", name)
	m.hint = near.Hint(near.Name(name, sortedKeys(filters())), "")
	return m
}

func unknownTest(offset int, name string) *mistake {
	m := mistakeAt(offset, "unknown test %q", name)
	m.hint = near.Hint(near.Name(name, sortedKeys(tests())), "")
	return m
}
