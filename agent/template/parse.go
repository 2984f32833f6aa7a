package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
)

// parser is a recursive-descent parser of Jinja2's grammar. It returns functions that render.
type parser struct {
	source    string
	tokens    []token // the last one repeats
	open      []token // the names of the tags around the current place, with the offsets of their {%
	depth     int
	constants *renderer // evaluates expressions without variables
	frame     *frame
	events    *[]event // events of the current branch of the current frame
	loops     int      // around the current place, within its macro
	macros    map[string]*macro
}

// maxDepth bounds the nesting of expressions and tags. Jinja2 reaches the limit of Python's stack earlier.
const maxDepth = 200

// deeper enters a level of nesting; the function that it returns leaves it.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxDepth {
		panic(mistakeAt(p.peek().start, "more than %d expressions or tags within each other", maxDepth))
	}
	return func() { p.depth-- }
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.peek()
	if len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (t token) is(kind tokenKind, texts ...string) bool {
	return t.kind == kind && slices.Contains(texts, t.text)
}

func (p *parser) isOp(texts ...string) bool   { return p.peek().is(tokenOperator, texts...) }
func (p *parser) isName(texts ...string) bool { return p.peek().is(tokenName, texts...) }

// isNext reports whether the token after the next one is the given one.
func (p *parser) isNext(kind tokenKind, text string) bool {
	return len(p.tokens) > 1 && p.tokens[1].is(kind, text)
}

func (p *parser) skipOp(text string) bool   { return p.skip(p.isOp(text)) }
func (p *parser) skipName(text string) bool { return p.skip(p.isName(text)) }

// skip reads the next token if found is set.
func (p *parser) skip(found bool) bool {
	if found {
		p.next()
	}
	return found
}

func (p *parser) expectOp(text string) {
	if !p.skipOp(text) {
		p.unexpected(fmt.Sprintf("%q", text))
	}
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
		panic(mistakeAt(t.start, "{%% %s %%} is not complete", p.open[len(p.open)-1].text))
	}
	panic(mistakeAt(t.start, "expected %s, found %s", want, t))
}

// pick returns the value of a known name. It refuses another name, and suggests a similar one or lists the
// known ones.
func pick[T any](name token, what string, known map[string]T) T {
	v, ok := known[name.text]
	if !ok {
		m := mistakeAt(name.start, "unknown %s %q", what, name.text)
		names := slices.Sorted(maps.Keys(known))
		if best := near.Name(name.text, names); best != "" {
			m.hint = near.Hint(best, "")
		} else if len(names) > 0 {
			m.hint = printable.Wrapped("there are: ", "  ", names, hintWidth)
		}
		panic(m)
	}
	return v
}

// statement renders a part of the template.
type statement func(r *renderer)

func (r *renderer) run(list []statement) {
	for _, execute := range list {
		execute(r)
	}
}

// body parses text, expressions and tags up to one of the tags ends or to the end of the template. It also
// reads the name of the end tag.
func (p *parser) body(ends ...string) (list []statement, end string) {
	defer p.deeper()()
	for {
		t := p.next()
		switch t.kind {
		case tokenText:
			list = append(list, func(r *renderer) { r.write(t.text) })
		case tokenVariable:
			e := p.expression()
			if p.peek().kind != tokenVariableEnd {
				p.unexpected(`"}}"`)
			}
			p.next()
			list = append(list, func(r *renderer) {
				v := e.eval(r)
				r.at = e.at
				r.write(str(v))
			})
		case tokenBlock:
			name := p.peek()
			if name.is(tokenName, ends...) {
				p.next()
				return list, name.text
			}
			list = append(list, p.tag(t.start))
		default:
			if len(ends) > 0 {
				tag := p.open[len(p.open)-1]
				panic(mistakeAt(tag.start, "{%% %s %%} is not closed: {%% end%s %%} is missing", tag.text, tag.text))
			}
			return list, ""
		}
	}
}

func (p *parser) tag(start int) statement {
	name := p.expectName("the name of a tag, such as if")
	of := strings.TrimPrefix(name.text, "end")
	if name.is(tokenName, "else", "elif") {
		of = "if"
	}
	tags := map[string]func() statement{"if": p.ifTag, "for": p.forTag, "set": p.setTag, "macro": p.macroTag, "raw": nil}
	switch _, known := tags[of]; {
	case known && of != name.text && len(p.open) > 0:
		panic(mistakeAt(name.start, "{%% %s %%} found, expected {%% end%s %%}", name.text, p.open[len(p.open)-1].text))
	case known && of != name.text:
		panic(mistakeAt(name.start, "{%% %s %%} without an open {%% %s %%}", name.text, of))
	case of == "raw": // the lexer has read the correct raw tags
		panic(mistakeAt(name.start, "{%% raw %%} takes no arguments"))
	}
	parse := pick(name, "tag", tags)
	name.start = start
	p.open = append(p.open, name)
	s := parse()
	p.endOfTag()
	p.open = p.open[:len(p.open)-1]
	return s
}

func (p *parser) endOfTag() {
	if t := p.peek(); t.kind != tokenBlockEnd {
		panic(mistakeAt(t.start, "unexpected %s in {%% %s %%}", t, p.open[len(p.open)-1].text))
	}
	p.next()
}

// block parses the rest of a tag, and its body.
func (p *parser) block(ends ...string) (list []statement, end string) {
	p.endOfTag()
	return p.body(ends...)
}

func (p *parser) ifTag() statement {
	test := p.or()
	var otherwise []statement
	outer, branches := p.events, []event{}
	p.events = &branches
	body, end := p.block("elif", "else", "endif")
	switch end {
	case "elif":
		otherwise = []statement{p.ifTag()}
	case "else":
		otherwise, _ = p.block("endif")
	}
	p.events = outer
	*outer = append(*outer, event{branches: branches})
	return func(r *renderer) {
		if truth(test.eval(r)) {
			r.run(body)
		} else {
			r.run(otherwise)
		}
	}
}

// loop is the state of the innermost loop.
type loop struct{ at, length int }

func (p *parser) forTag() statement {
	to := p.targets()
	if !p.skipName("in") {
		p.unexpected(`"in"`)
	}
	items := p.or()
	loops := p.loops
	var test expr
	var testing, elsewhere *frame
	var body, otherwise []statement
	var end string
	if p.skipName("if") {
		p.loops = 0
		testing = p.inner(to, func() { test = p.expression() })
	}
	p.loops = loops + 1
	frame := p.inner(to, func() { body, end = p.block("endfor", "else") })
	p.loops = loops
	if end == "else" {
		elsewhere = p.inner(nil, func() { otherwise, _ = p.block("endfor") })
	}
	return func(r *renderer) {
		v := items.eval(r)
		r.at = items.at
		list := iterate(v)
		if testing != nil {
			list = slices.DeleteFunc(slices.Clone(list), func(v any) (drop bool) {
				r.spend(roundSize)
				r.within(testing, func() {
					r.assign(to, v)
					drop = !truth(test.eval(r))
				})
				return drop
			})
		}
		around := r.loop
		r.loop = &loop{length: len(list)}
		for i, v := range list {
			r.spend(roundSize)
			r.loop.at = i
			r.within(frame, func() {
				r.assign(to, v)
				r.run(body)
			})
		}
		r.loop = around
		if len(list) == 0 && elsewhere != nil {
			r.within(elsewhere, func() { r.run(otherwise) })
		}
	}
}

// targets parses the names, one or more, that a value is assigned to.
func (p *parser) targets() (names []string) {
	for {
		names = append(names, p.assignable("a name to assign to"))
		if !p.skipOp(",") {
			return names
		}
	}
}

func (r *renderer) assign(names []string, v any) {
	if len(names) == 1 {
		r.scope.values[names[0]] = v
		return
	}
	values := iterate(v)
	if len(values) != len(names) {
		failf("expected %d values, found %d", len(names), len(values))
	}
	for i, name := range names {
		r.scope.values[name] = values[i]
	}
}

// Names that cannot be set: fixed ones have a value, the others are reserved.
var (
	fixed       = map[string]any{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}
	operators   = strings.Fields("and or not if elif else in is")
	unsupported = strings.Fields("self caller varargs kwargs")
	reserved    = slices.Concat(slices.Collect(maps.Keys(fixed)), operators, unsupported, []string{"loop", "range"})
)

// assignable reads a name that a value is assigned to.
func (p *parser) assignable(what string) string {
	t := p.expectName(what)
	switch {
	case slices.Contains(reserved, t.text), p.macros[t.text] != nil:
		panic(mistakeAt(t.start, "nothing can be assigned to %s", t.text))
	case p.isOp("."):
		panic(mistakeAt(t.start, "only a name can be set: namespaces are not supported"))
	}
	return t.text
}

func (p *parser) setTag() statement {
	to := p.targets()
	defer p.stored(to...)
	if p.skipOp("=") {
		e := p.expression()
		return func(r *renderer) {
			v := e.eval(r)
			r.at = e.at
			r.assign(to, v)
		}
	}
	var body []statement
	frame := p.inner(nil, func() { body, _ = p.block("endset") })
	return func(r *renderer) {
		s := ""
		r.within(frame, func() { s = r.captured(body) })
		r.assign(to, s)
	}
}

type macro struct {
	params []parameter
	body   []statement
	frame  *frame
}

func (p *parser) macroTag() statement {
	if len(p.open) > 1 {
		panic(mistakeAt(p.open[1].start, "a macro within {%% %s %%} is not supported: define it outside", p.open[0].text))
	}
	m := &macro{}
	name := p.assignable("the name of the macro")
	p.stored(name)
	p.macros[name] = m
	m.frame = p.inner(nil, func() {
		p.expectOp("(")
		p.list(")", func() (e expr) {
			at := p.peek().start
			param := parameter{name: p.assignable("the name of a parameter")}
			if slices.Contains(p.frame.params, param.name) {
				panic(mistakeAt(at, "the parameter %s is there twice", param.name))
			}
			if p.skipOp("=") {
				param.otherwise = p.expression().eval
			} else if n := len(m.params); n > 0 && m.params[n-1].otherwise != nil {
				panic(mistakeAt(at, "the parameter %s needs a default: the one before has one", param.name))
			}
			m.params, p.frame.params = append(m.params, param), append(p.frame.params, param.name)
			return e
		})
		m.body, _ = p.block("endmacro")
	})
	return func(r *renderer) { r.scope.values[name] = m }
}

// maxLevels bounds recursive macros, because a full stack would end the process.
const maxLevels = 1000

// call renders a macro. A missing argument has no function.
func (m *macro) call(r *renderer, at int, args []expr) (s string) {
	values := map[string]any{}
	for i, e := range args {
		if e.eval != nil {
			values[m.params[i].name] = e.eval(r)
		}
	}
	r.at = at
	if r.level++; r.level > maxLevels {
		failf("a macro calls itself more than %d levels deep", maxLevels)
	}
	outer, around := r.scope, r.loop
	r.scope, r.loop = r.top, nil
	r.within(m.frame, func() {
		maps.Copy(r.scope.values, values)
		for _, param := range m.params {
			switch _, given := values[param.name]; {
			case given:
			case param.otherwise != nil:
				r.scope.values[param.name] = param.otherwise(r)
			default:
				r.scope.values[param.name] = &undefined{mistake: func() *mistake { return mistakeAt(at, "the parameter %q of the macro is not given", param.name) }}
			}
		}
		s = r.captured(m.body)
	})
	r.scope, r.loop = outer, around
	r.level--
	return s
}
