package template

import (
	"strings"

	"batch.example/batch/internal/printable"
)

type statement interface{ execute(*renderer) }

type (
	text   string
	output struct{ of expr }
	ifTag  struct {
		tests     []expr
		bodies    [][]statement
		otherwise []statement
	}
	forTag struct {
		target          target
		items, test     expr
		body, otherwise []statement
		recursive       bool
	}
	setTag struct {
		target target
		value  expr
	}
	setBlock struct {
		target  target
		filters []*filterOf
		body    []statement
	}
	filterTag struct {
		filters []*filterOf
		body    []statement
	}
	withTag struct {
		targets []target
		values  []expr
		body    []statement
	}
	blockTag struct {
		scoped bool
		body   []statement
	}
	macroTag struct {
		name                    string
		params                  []string
		defaults                []expr // nil without one
		body                    []statement
		caller, varargs, kwargs bool // whether the body reads them
	}
	callTag struct {
		call   *call
		caller *macroTag
	}
	// target is the left side of an assignment.
	target struct {
		at    int
		name  string
		of    *variable // a namespace: name is its member
		parts []target  // or several
	}
)

func (r *renderer) run(list []statement) {
	for _, s := range list {
		s.execute(r)
	}
}

// inner runs statements in a scope of their own.
func (r *renderer) inner(list []statement) {
	outer := r.scope
	r.scope = &scope{parent: outer}
	r.run(list)
	r.scope = outer
}

// captured returns the output of statements.
func (r *renderer) captured(run func()) string {
	outer := r.out
	r.out = &strings.Builder{}
	run()
	s := r.out.String()
	r.out = outer
	return s
}

func (r *renderer) write(s string) {
	r.spend(len(s))
	r.out.WriteString(s)
}

func (t text) execute(r *renderer) { r.write(string(t)) }

func (o output) execute(r *renderer) {
	v := o.of.eval(r)
	r.at = o.of.where().at
	r.write(str(v))
}

func (t *ifTag) execute(r *renderer) {
	for i, test := range t.tests {
		if truth(test.eval(r)) {
			r.run(t.bodies[i])
			return
		}
	}
	r.run(t.otherwise)
}

func (r *renderer) assign(t target, v any) {
	switch {
	case t.of != nil:
		r.at = t.at
		ns, ok := t.of.eval(r).(*namespace)
		if !ok {
			failf("only members of a namespace can be set: {%% set %s = namespace() %%}", t.of.name)
		}
		ns.members.set(t.name, v)
	case t.parts != nil:
		r.at = t.at
		values := iterate(v)
		if len(values) != len(t.parts) {
			failf("expected %s, found %d", printable.Count(len(t.parts), "value", "values"), len(values))
		}
		for i, part := range t.parts {
			r.assign(part, values[i])
		}
	default:
		r.scope.set(t.name, v)
	}
}

func (t *setTag) execute(r *renderer) { r.assign(t.target, t.value.eval(r)) }

func (t *setBlock) execute(r *renderer) {
	var v any = r.captured(func() { r.inner(t.body) })
	for _, f := range t.filters {
		v = f.apply(r, v)
	}
	r.assign(t.target, v)
}

func (t *filterTag) execute(r *renderer) {
	var v any = r.captured(func() { r.inner(t.body) })
	for _, f := range t.filters {
		v = f.apply(r, v)
	}
	r.write(str(v))
}

func (t *withTag) execute(r *renderer) {
	values := r.all(t.values)
	outer := r.scope
	r.scope = &scope{parent: outer}
	for i, to := range t.targets {
		r.assign(to, values[i])
	}
	r.run(t.body)
	r.scope = outer
}

func (t *blockTag) execute(r *renderer) {
	outer := r.scope
	if !t.scoped {
		for r.scope.parent != nil && r.scope.parent.parent != nil {
			r.scope = r.scope.parent
		}
	}
	r.inner(t.body)
	r.scope = outer
}
