package template

import (
	"slices"
)

func (t *forTag) execute(r *renderer) {
	v := t.items.eval(r)
	r.at = t.items.where().at
	t.loop(r, r.scope, v, 0)
}

// loop is the object of that name in a loop.
type loop struct {
	tag     *forTag
	scope   *scope // around the loop
	items   []any
	at      int
	depth   int
	changed []any
}

// loop runs the loop over v within the scope outer.
func (t *forTag) loop(r *renderer, outer *scope, v any, depth int) {
	before := r.scope
	defer func() { r.scope = before }()
	l := &loop{tag: t, scope: outer, items: iterate(v), depth: depth}
	if t.test != nil {
		l.items = slices.DeleteFunc(slices.Clone(l.items), func(v any) bool {
			r.scope = &scope{parent: outer}
			r.assign(t.target, v)
			return !truth(t.test.eval(r))
		})
	}
	r.spend(itemSize * len(l.items))
	inner := &scope{parent: outer}
	for l.at = range l.items {
		if r.rounds++; r.rounds > maxRounds {
			failf("the loops have more than %d rounds", maxRounds)
		}
		r.scope = inner
		inner.names, inner.values = inner.names[:0], inner.values[:0]
		inner.set("loop", l)
		r.assign(t.target, l.items[l.at])
		r.run(t.body)
	}
	if len(l.items) == 0 {
		r.scope = outer
		r.inner(t.otherwise)
	}
}

func (l *loop) again(r *renderer, g given) any {
	switch {
	case !l.tag.recursive:
		failf("only a loop with {%% for ... recursive %%} can be called")
	case len(g.list) != 1 || g.named != nil:
		failf("the loop needs one argument")
	}
	defer r.deeper()()
	return r.captured(func() { l.tag.loop(r, l.scope, g.list[0], l.depth+1) })
}

// member returns an attribute of the loop.
func (l *loop) member(name string) (any, bool) {
	neighbor := func(i int) any {
		if i >= 0 && i < len(l.items) {
			return l.items[i]
		}
		return &undefined{mistake: func() *mistake { return mistakeAt(-1, "loop.%s is not there in this round", name) }}
	}
	v, ok := map[string]any{
		"index": l.at + 1, "index0": l.at, "revindex": len(l.items) - l.at, "revindex0": len(l.items) - l.at - 1,
		"first": l.at == 0, "last": l.at == len(l.items)-1, "length": len(l.items), "depth": l.depth + 1, "depth0": l.depth,
	}[name]
	switch name {
	case "previtem":
		return neighbor(l.at - 1), true
	case "nextitem":
		return neighbor(l.at + 1), true
	case "cycle":
		return function(func(_ *renderer, g given) any {
			if len(g.list) == 0 {
				failf("loop.cycle needs values")
			}
			return g.list[l.at%len(g.list)]
		}), true
	case "changed":
		return function(func(_ *renderer, g given) any {
			if l.changed != nil && sameItems(l.changed, g.list, 0) {
				return false
			}
			l.changed = append([]any{}, g.list...)
			return true
		}), true
	}
	return v, ok
}
