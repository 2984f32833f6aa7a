package template

import (
	"fmt"
	"slices"

	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
)

// span is where an expression begins and ends, and where a person would look for it.
type span struct{ start, end, at int }

func (s span) where() span { return s }

type expr interface {
	eval(*renderer) any
	where() span
}

type (
	constant struct {
		span
		value any
	}
	variable struct {
		span
		name string
	}
	listOf struct {
		span
		items []expr
	}
	tupleOf struct {
		span
		items []expr
	}
	dictOf struct {
		span
		keys, values []expr
	}
	conditional struct {
		span
		then, test, otherwise expr
	}
	logic struct {
		span
		or          bool
		left, right expr
	}
	negation struct {
		span
		of expr
	}
	comparison struct {
		span
		first   expr
		ops     []string
		offsets []int
		rest    []expr
	}
	binary struct {
		span
		op          string
		left, right expr
	}
	sign struct {
		span
		op string
		of expr
	}
	attribute struct {
		span
		of   expr
		name string
	}
	item struct {
		span
		of, key expr
	}
	sliceOf struct {
		span
		parts [3]expr
	}
	arguments struct {
		list        []expr
		names       []string
		named       []expr
		star, stars expr
	}
	call struct {
		span
		of   expr
		args arguments
	}
	filterOf struct {
		span
		of   expr
		name string
		run  *builtin
		args arguments
	}
	testOf struct {
		span
		of   expr
		name string
		run  *builtin
		args arguments
	}
)

func (e *constant) eval(*renderer) any   { return e.value }
func (e *variable) eval(r *renderer) any { return r.lookup(e.name, e.at) }

func (e *listOf) eval(r *renderer) any  { return &list{items: r.all(e.items)} }
func (e *tupleOf) eval(r *renderer) any { return &tuple{items: r.all(e.items)} }

func (r *renderer) all(list []expr) []any {
	values := make([]any, len(list))
	for i, e := range list {
		values[i] = e.eval(r)
	}
	return values
}

func (e *dictOf) eval(r *renderer) any {
	d := &Dict{}
	for i, k := range e.keys {
		key := k.eval(r)
		value := e.values[i].eval(r)
		r.at = k.where().at
		d.set(key, value)
	}
	return d
}

func (e *conditional) eval(r *renderer) any {
	if truth(e.test.eval(r)) {
		return e.then.eval(r)
	}
	if e.otherwise != nil {
		return e.otherwise.eval(r)
	}
	return &undefined{lax: true, mistake: func() *mistake { return mistakeAt(e.at, "the condition is false and there is no else") }}
}

func (e *logic) eval(r *renderer) any {
	left := e.left.eval(r)
	if truth(left) == e.or {
		return left
	}
	return e.right.eval(r)
}

func (e *negation) eval(r *renderer) any { return !truth(e.of.eval(r)) }

func (e *comparison) eval(r *renderer) any {
	left := e.first.eval(r)
	for i, op := range e.ops {
		right := e.rest[i].eval(r)
		r.operation(e.offsets[i])
		if !compared(op, left, right) {
			return false
		}
		left = right
	}
	return true
}

func (e *binary) eval(r *renderer) any {
	left, right := e.left.eval(r), e.right.eval(r)
	r.operation(e.at)
	if e.op == "~" {
		a, b := str(left), str(right)
		bounded(len(a) + len(b))
		return r.built(a + b)
	}
	return r.built(operate(e.op, left, right))
}

func (e *sign) eval(r *renderer) any {
	v := e.of.eval(r)
	r.operation(e.at)
	if e.op == "-" {
		if f, ok := v.(float64); ok {
			return -f
		}
		return operate("*", numeric(v), -1)
	}
	return operate("+", numeric(v), 0)
}

func numeric(v any) any {
	if _, _, _, ok := number(v); !ok {
		failf("expected a number, found %s", kind(v))
	}
	return v
}

func (e *attribute) eval(r *renderer) any {
	of := e.of.eval(r)
	r.operation(e.at)
	if v, ok := member(of, e.name); ok {
		return v
	}
	if d, ok := of.(*Dict); ok {
		if v, ok := d.get(e.name); ok {
			return v
		}
	}
	return r.missing(of, e.of, e.name, e.at)
}

func (e *item) eval(r *renderer) any {
	of := e.of.eval(r)
	key := e.key.eval(r)
	r.operation(e.at)
	if v, ok := itemOf(of, key); ok {
		return v
	}
	return r.missing(of, e.of, key, e.at)
}

// missing is the value of an item or an attribute that does not exist.
func (r *renderer) missing(of any, from expr, key any, at int) *undefined {
	if u, ok := of.(*undefined); ok {
		u.use()
	}
	return &undefined{mistake: func() *mistake { return r.missingMember(of, from, key, at) }}
}

// missingMember says which member is missing and which ones exist.
func (r *renderer) missingMember(of any, from expr, key any, at int) *mistake {
	text := "this"
	if from != nil {
		text = r.source[from.where().start:from.where().end]
	}
	if items, ok := sequence(of); ok {
		if n, ok := key.(int); ok {
			m := mistakeAt(at, "%s[%d] is not there: %s has %s", text, n, text, printable.Count(len(items), "item", "items"))
			m.item = true
			return m
		}
	}
	m := mistakeAt(at, "%s has no %q", text, str(key))
	d, ok := of.(*Dict)
	if !ok {
		m.text += ": it is " + kind(of)
		return m
	}
	var members []string
	for _, key := range d.keys {
		members = append(members, str(key))
	}
	slices.Sort(members)
	label := near.Hint(near.Name(str(key), members), fmt.Sprintf("%s has:", text)) + " "
	m.hint = printable.Wrapped(label, "  ", members, hintWidth)
	return m
}

func (e *sliceOf) eval(r *renderer) any {
	w := &window{}
	for i, part := range e.parts {
		if part != nil {
			w.parts[i] = part.eval(r)
		}
	}
	return w
}

// given are the values of arguments.
type given struct {
	list  []any
	named *Dict // or nil
}

func (a *arguments) eval(r *renderer, first ...any) given {
	g := given{list: make([]any, 0, len(first)+len(a.list))}
	g.list = append(g.list, first...)
	for _, e := range a.list {
		g.list = append(g.list, e.eval(r))
	}
	if a.star != nil {
		g.list = append(g.list, iterate(a.star.eval(r))...)
	}
	for i, e := range a.named {
		g.name(a.names[i], e.eval(r))
	}
	if a.stars != nil {
		d, ok := a.stars.eval(r).(*Dict)
		if !ok {
			failf("expected a dict after **")
		}
		for i, k := range d.keys {
			g.name(str(k), d.values[i])
		}
	}
	return g
}

func (g *given) name(name string, value any) {
	if g.named == nil {
		g.named = &Dict{}
	}
	if g.named.find(name) >= 0 {
		failf("the argument %q is given twice", name)
	}
	g.named.set(name, value)
}

func (e *call) eval(r *renderer) any { return e.with(r, nil) }

// with calls what e calls. A caller, if there is one, is the macro of a {% call %}.
func (e *call) with(r *renderer, caller *macro) any {
	f := e.of.eval(r)
	if u, ok := f.(*undefined); ok {
		m := u.mistake()
		if a, ok := e.of.(*attribute); ok {
			m = mistakeAt(a.at, "there is no method %q", a.name)
		}
		panic(m)
	}
	r.operation(e.at)
	g := e.args.eval(r)
	if caller != nil {
		g.name("caller", caller)
	}
	r.operation(e.at)
	return r.built(r.call(f, g))
}

func (e *filterOf) eval(r *renderer) any { return e.apply(r, e.of.eval(r)) }

func (e *filterOf) apply(r *renderer, v any) any {
	g := e.args.eval(r, v)
	r.operation(e.at)
	r.filter = e.name
	v = r.built(e.run.call(r, g))
	r.filter = ""
	return v
}

func (e *testOf) eval(r *renderer) any {
	g := e.args.eval(r, e.of.eval(r))
	r.operation(e.at)
	return e.run.call(r, g)
}
