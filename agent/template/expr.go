package template

import (
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
)

// expr is an expression: its beginning and end, the place for error messages, and its value.
type expr struct {
	start, end, at int
	eval           func(r *renderer) any
	constant       any // the value, or notConstant
}

// notConstant is the panic of an expression that needs variables, and its value while a template is parsed.
type notConstant struct{}

// build returns the expression from start to the last token that was read. An expression without variables is
// evaluated at once: an error in it is a mistake even in a branch that never runs, because Jinja2 evaluates
// it at load too.
func (p *parser) build(start, at int, eval func(r *renderer) any) (e expr) {
	end := len(strings.TrimRight(p.source[:p.peek().start], " \t\n"))
	e = expr{start: start, end: end, at: at, eval: eval, constant: notConstant{}}
	defer func() {
		if problem := recover(); problem != nil {
			if _, ok := problem.(notConstant); !ok {
				panic(p.constants.failed(problem))
			}
		}
	}()
	p.constants.applied = ""
	v := eval(p.constants)
	if _, ok := v.(*undefined); !ok {
		e.constant, e.eval = v, func(*renderer) any { return v }
	}
	return e
}

// needsVariables panics if no variables are available.
func (r *renderer) needsVariables() {
	if r.top == nil {
		panic(notConstant{})
	}
}

func (p *parser) expression() expr {
	defer p.deeper()()
	e := p.or()
	for p.isName("if") {
		at := p.next().start
		then, test := e, p.or()
		otherwise := func(*renderer) any {
			return &undefined{lax: true, mistake: func() *mistake { return mistakeAt(at, "the condition is false and there is no else") }}
		}
		if p.skipName("else") {
			otherwise = p.expression().eval
		}
		e = p.build(then.start, at, func(r *renderer) any {
			if truth(test.eval(r)) {
				return then.eval(r)
			}
			return otherwise(r)
		})
	}
	return e
}

// levels are the operators, from the lowest to the highest precedence.
var levels = [][]string{{"or"}, {"and"}, {"not"}, {"==", "!=", "<", "<=", ">", ">=", "in", "not in"}, {"+", "-"}, {"~"}, {"*", "/", "//", "%"}}

const negations, comparisons = 2, 3

func (p *parser) or() expr { return p.level(0) }

// level parses operators of one level, from left to right.
func (p *parser) level(n int) expr {
	switch {
	case n == len(levels):
		return p.operand()
	case n == negations && p.isName("not"):
		defer p.deeper()()
		at := p.next().start
		of := p.level(n)
		return p.build(at, at, func(r *renderer) any { return !truth(of.eval(r)) })
	}
	e := p.level(n + 1)
	for first := true; n != negations; first = false {
		t := p.operator(levels[n])
		switch {
		case t.text == "":
			return e
		case n == comparisons && !first:
			panic(mistakeAt(t.start, "chained comparisons are not supported: join two with and"))
		}
		left, right := e, p.level(n+1)
		e = p.build(left.start, t.start, func(r *renderer) any {
			a := left.eval(r)
			if isLogic := n < negations; isLogic && truth(a) == (t.text == "or") {
				return a
			} else if isLogic {
				return right.eval(r)
			}
			b := right.eval(r)
			if r.at = t.start; n == comparisons {
				return compared(t.text, a, b)
			}
			return r.built(operate(t.text, a, b))
		})
	}
	return e
}

// operator reads one of the operators, if it is next.
func (p *parser) operator(ops []string) (t token) {
	if p.isName("not") && p.isNext(tokenName, "in") && slices.Contains(ops, "not in") {
		t = p.next()
		p.next()
		t.text = "not in"
	} else if p.isOp(ops...) || p.isName(ops...) {
		t = p.next()
	}
	return t
}

func (p *parser) operand() expr {
	e := p.unary()
	for {
		switch t := p.peek(); {
		case p.skipOp("|"):
			name := p.expectName("the name of a filter")
			e = p.applied(pick(name, "filter", filters()), name, e, true)
		case p.skipName("is"):
			e = p.test(e)
		case p.isOp("**"):
			panic(mistakeAt(t.start, "** is not supported: use *"))
		default:
			return e
		}
	}
}

func (p *parser) unary() expr {
	if !p.isOp("-") {
		return p.postfix(p.primary())
	}
	defer p.deeper()()
	at := p.next().start
	of := p.unary()
	return p.postfix(p.build(at, at, func(r *renderer) any {
		v := of.eval(r)
		r.at = at
		return operate("*", operate("-", v, 0), -1) // so that text fails, and zero keeps its sign
	}))
}

func (p *parser) primary() expr {
	t := p.peek()
	switch {
	case t.kind == tokenName:
		return p.name()
	case t.kind == tokenString || t.kind == tokenInt || t.kind == tokenFloat:
		p.next()
		return p.value(t, t.value)
	case p.skipOp("("):
		return p.parenthesis(t)
	case p.skipOp("["):
		return p.items(t, p.list("]", p.expression), false)
	case p.skipOp("{"):
		return p.dict(t)
	}
	p.unexpected("a value")
	return expr{}
}

// value returns a constant that begins with the token t.
func (p *parser) value(t token, v any) expr {
	return p.build(t.start, t.start, func(*renderer) any { return v })
}

// items returns a list or a tuple.
func (p *parser) items(t token, items []expr, tuple bool) expr {
	return p.build(t.start, t.start, func(r *renderer) any {
		l := &list{items: make([]any, len(items)), tuple: tuple}
		for i, e := range items {
			l.items[i] = e.eval(r)
		}
		return r.built(l)
	})
}

// parenthesis parses one value, or a tuple.
func (p *parser) parenthesis(t token) expr {
	if p.skipOp(")") {
		return p.items(t, nil, true)
	}
	first := p.expression()
	if !p.skipOp(",") {
		p.expectOp(")")
		return first
	}
	return p.items(t, append([]expr{first}, p.list(")", p.expression)...), true)
}

func (p *parser) dict(t token) expr {
	var keys []any
	values := p.list("}", func() expr {
		key := p.expression()
		if _, ok := key.constant.(notConstant); ok {
			panic(mistakeAt(key.start, "a key must be a text or a number"))
		}
		p.build(key.start, key.at, func(r *renderer) any {
			r.at = key.at
			return hashed(key.constant)
		})
		keys = append(keys, key.constant)
		p.expectOp(":")
		return p.expression()
	})
	return p.build(t.start, t.start, func(r *renderer) any {
		d := &Dict{}
		for i, e := range values {
			d.set(keys[i], e.eval(r))
		}
		return d
	})
}

// name parses a constant, a variable, a member of the loop or the call of a macro or of range.
func (p *parser) name() expr {
	t := p.next()
	known, isKnown := fixed[t.text]
	switch name := t.text; {
	case isKnown:
		return p.value(t, known)
	case name == "loop":
		return p.loopMember(t)
	case slices.Contains(unsupported, name):
		panic(mistakeAt(t.start, "%s is not supported", name))
	case slices.Contains(operators, name):
		panic(mistakeAt(t.start, "expected a value, found %q", name))
	case name == "range" && p.isOp("("):
		return p.applied(rangeOf, t, p.value(t, nil), false)
	case p.macros[name] != nil:
		m := p.macros[name]
		if !p.isOp("(") {
			panic(mistakeAt(t.start, "the macro %s can only be called", name))
		}
		args := p.arguments(name, m.params, 0, true)
		return p.build(t.start, t.start, func(r *renderer) any {
			r.needsVariables()
			return r.built(m.call(r, t.start, args))
		})
	case p.isOp("("):
		pick(t, "macro or function", p.macros)
	}
	p.loaded(t.text)
	return p.build(t.start, t.start, func(r *renderer) any {
		r.needsVariables()
		return r.lookup(t.text, t.start)
	})
}

var loopMembers = map[string]func(l *loop) any{
	"index":     func(l *loop) any { return l.at + 1 },
	"index0":    func(l *loop) any { return l.at },
	"revindex":  func(l *loop) any { return l.length - l.at },
	"revindex0": func(l *loop) any { return l.length - l.at - 1 },
	"first":     func(l *loop) any { return l.at == 0 },
	"last":      func(l *loop) any { return l.at == l.length-1 },
	"length":    func(l *loop) any { return l.length },
}

func (p *parser) loopMember(t token) expr {
	if p.loops == 0 {
		panic(mistakeAt(t.start, "loop is known only in a loop, and not in macros that it calls"))
	}
	if !p.skipOp(".") {
		panic(mistakeAt(t.start, "only members of the loop can be used, such as loop.index"))
	}
	name := p.expectName("a member of the loop, such as index")
	member := pick(name, "member of the loop", loopMembers)
	return p.build(t.start, name.start, func(r *renderer) any {
		r.needsVariables()
		return member(r.loop)
	})
}

// list parses items with commas between them up to the end.
func (p *parser) list(end string, item func() expr) (items []expr) {
	for !p.skipOp(end) {
		if items = append(items, item()); !p.isOp(end) {
			p.expectOp(",")
		}
	}
	return items
}

func (p *parser) postfix(e expr) expr {
	for {
		switch {
		case p.skipOp("."):
			e = p.member(e)
		case p.skipOp("["):
			e = p.subscript(e)
		default:
			return e
		}
	}
}

func (p *parser) member(of expr) expr {
	t := p.expectName("a name")
	if p.isOp("(") {
		return p.applied(pick(t, "method", methods()), t, of, false)
	}
	return p.item(of, p.value(t, t.text), true)
}

// item returns of[key] or, if attribute is set, of.key.
func (p *parser) item(of, key expr, attribute bool) expr {
	source := p.source[of.start:of.end]
	return p.build(of.start, key.at, func(r *renderer) any {
		v, k := of.eval(r), key.eval(r)
		r.at = key.at
		item, ok := itemOf(v, k, attribute)
		missing := func() *mistake { return missingMember(source, v, k, key.at) }
		if _, isText := k.(string); !ok && isText && !isDict(v) { // in Python it may have such an attribute
			panic(missing())
		} else if !ok {
			return &undefined{mistake: missing}
		}
		return item
	})
}

// missingMember names the missing member of v and the existing ones.
func missingMember(source string, v, key any, at int) *mistake {
	switch v := v.(type) {
	case *list:
		if n, ok := key.(int); ok {
			m := mistakeAt(at, "%s[%d] is not there: %s has %s", source, n, source, printable.Count(len(v.items), "item", "items"))
			m.item = true
			return m
		}
	case *Dict:
		m := mistakeAt(at, "%s has no %q", source, str(key))
		var members []string
		for _, key := range v.keys {
			members = append(members, str(key))
		}
		slices.Sort(members)
		label := near.Hint(near.Name(str(key), members), fmt.Sprintf("%s has:", source)) + " "
		m.hint = printable.Wrapped(label, "  ", members, hintWidth)
		return m
	}
	return mistakeAt(at, "%s has no %q: it is %s", source, str(key), kind(v))
}

// subscript parses an item or a slice.
func (p *parser) subscript(of expr) expr {
	start := p.peek().start
	var parts [3]expr
	n := 0
	for ; n < len(parts) && (n == 0 || p.skipOp(":")); n++ {
		if parts[n].eval = func(*renderer) any { return nil }; !p.isOp(":", "]") {
			parts[n] = p.expression()
		} else if p.isOp("]") && n == 0 {
			p.unexpected("a value")
		}
	}
	p.expectOp("]")
	if n == 1 {
		return p.item(of, parts[0], false)
	}
	return p.build(of.start, start, func(r *renderer) any {
		v := of.eval(r)
		var values [3]any
		for i := range n {
			values[i] = parts[i].eval(r)
		}
		r.at = start
		return r.built(sliced(v, values))
	})
}

// arguments parses the arguments of the function, filter or macro what, and returns one for each parameter; a
// missing one has no function. Arguments may have names only if names is set.
func (p *parser) arguments(what string, params []parameter, required int, names bool) []expr {
	start := p.peek().start
	args := make([]expr, len(params))
	n, named := 0, false
	argument := func() expr {
		t := p.peek()
		at := n
		switch {
		case p.isOp("*", "**"):
			panic(mistakeAt(t.start, "arguments with %s are not supported", t.text))
		case t.kind == tokenName && p.isNext(tokenOperator, "="):
			p.next()
			p.next()
			named = true
			known := map[string]int{}
			for i, param := range params {
				if names {
					known[param.name] = i
				}
			}
			at = pick(t, "argument of "+what, known)
		case named:
			panic(mistakeAt(t.start, "an argument without a name follows one with a name"))
		case n == len(params):
			panic(mistakeAt(t.start, "%s takes at most %s", what, printable.Count(n, "argument", "arguments")))
		default:
			n++
		}
		if args[at].eval != nil {
			panic(mistakeAt(t.start, "the argument %q is given twice", t.text))
		}
		args[at] = p.expression()
		return args[at]
	}
	if p.skipOp("(") {
		p.list(")", argument)
	}
	for i, param := range params[:required] {
		if args[i].eval == nil {
			panic(mistakeAt(start, "%s: the argument %q is missing", what, param.name))
		}
	}
	return args
}

// applied parses the arguments of a builtin and applies it to a value.
func (p *parser) applied(b *builtin, t token, to expr, names bool) expr {
	args := p.arguments(t.text, b.params, b.required, names)
	return p.build(to.start, t.start, func(r *renderer) any {
		v := to.eval(r)
		values := make([]any, len(args))
		for i, e := range args {
			if values[i] = b.params[i].value; e.eval != nil {
				values[i] = e.eval(r)
			}
		}
		r.at, r.applied = t.start, t.text
		v = r.built(b.run(r, v, values))
		r.applied = ""
		return v
	})
}

func (p *parser) test(of expr) expr {
	not := p.skipName("not")
	t := p.expectName("the name of a test")
	holds := pick(t, "test", tests())
	if next := p.peek(); next.kind == tokenName && !p.isName("else", "or", "and") {
		panic(mistakeAt(next.start, "unexpected %s after a test: put the test in parentheses", next))
	}
	return p.build(of.start, t.start, func(r *renderer) any {
		v := of.eval(r)
		r.at = t.start
		return holds(v) != not
	})
}
