package template

import (
	"batch.example/batch/internal/printable"
)

// macro is the value that {% macro %} defines.
type macro struct {
	*macroTag
	scope *scope
}

func (t *macroTag) execute(r *renderer) { r.scope.set(t.name, &macro{t, r.scope}) }

func (t *callTag) execute(r *renderer) {
	r.write(str(t.call.with(r, &macro{t.caller, r.scope})))
}

func (m *macro) call(r *renderer, g given) any {
	defer r.deeper()()
	at := r.at
	named := &Dict{}
	if g.named != nil {
		named = g.named.clone()
	}
	take := func(name string) (any, bool) {
		v, ok := named.get(name)
		if ok {
			named.remove(named.find(name))
		}
		return v, ok
	}
	inner := &scope{parent: m.scope}
	var late []int // their defaults may use the others
	for i, name := range m.params {
		v, ok := any(nil), i < len(g.list)
		if ok {
			v = g.list[i]
		} else {
			v, ok = take(name)
		}
		switch {
		case ok:
			inner.set(name, v)
		case m.defaults[i] != nil:
			late = append(late, i)
		default:
			inner.set(name, &undefined{mistake: func() *mistake { return mistakeAt(at, "macro %s: the parameter %q is not given", m.name, name) }})
		}
	}
	m.extra(r, inner, g, take, named)
	before := r.scope
	r.scope = inner
	for _, i := range late {
		inner.set(m.params[i], m.defaults[i].eval(r))
	}
	s := r.captured(func() { r.run(m.body) })
	r.scope = before
	return s
}

// extra handles arguments that are not parameters.
func (m *macro) extra(r *renderer, inner *scope, g given, take func(string) (any, bool), named *Dict) {
	at := r.at
	if m.caller {
		v, ok := take("caller")
		if !ok {
			v = &undefined{mistake: func() *mistake { return mistakeAt(at, "macro %s: there is no caller: use {%% call %%}", m.name) }}
		}
		inner.set("caller", v)
	}
	if m.kwargs {
		inner.set("kwargs", named)
	} else if len(named.keys) > 0 {
		failf("the macro %s has no parameter %q", m.name, str(named.keys[0]))
	}
	more := g.list[min(len(m.params), len(g.list)):]
	if m.varargs {
		inner.set("varargs", &tuple{items: more})
	} else if len(more) > 0 {
		failf("the macro %s has %s, found %d", m.name, printable.Count(len(m.params), "parameter", "parameters"), len(g.list))
	}
}
