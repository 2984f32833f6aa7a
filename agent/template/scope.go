package template

import (
	"maps"
	"slices"
	"strings"
)

// In Jinja2, the text of a template decides where a name is looked up, not what has been set
// when it is read: a name that a loop's body sets anywhere is the body's own, and begins with
// the outer value. Each frame lists the names that it reads and sets, in their order, and
// resolve decides about them once the whole template has been read.

// frame is a part of a template with names of its own: the template itself, the body of a
// loop, of a macro or of a set, the test of a loop and what follows its else.
type frame struct {
	outer  *frame
	inner  []*frame
	params []string
	events []event
	begins map[string]beginning // of the frame's own names
}

// event is a name that is read or set, or what the branches of an if read and set.
type event struct {
	name     string
	set      bool
	branches []event
}

// beginning is the value of a name when its frame begins.
type beginning byte

const (
	withoutValue  beginning = iota
	fromVariables           // given to Render
	fromOuter               // of the same name in the outer frame
)

// inner reads a frame within the current one.
func (p *parser) inner(params []string, read func()) *frame {
	f := &frame{outer: p.frame, params: params}
	p.frame.inner = append(p.frame.inner, f)
	outer := p.events
	p.frame, p.events = f, &f.events
	read()
	p.frame, p.events = f.outer, outer
	return f
}

func (p *parser) loaded(name string) { *p.events = append(*p.events, event{name: name}) }

func (p *parser) stored(names ...string) {
	for _, name := range names {
		*p.events = append(*p.events, event{name: name, set: true})
	}
}

// has reports whether name belongs to the frame or to one around it.
func (f *frame) has(name string) bool {
	for ; f != nil; f = f.outer {
		if _, ok := f.begins[name]; ok {
			return true
		}
	}
	return false
}

// resolve sets begins of the frame, and of those within it.
func (f *frame) resolve() {
	f.begins = map[string]beginning{}
	set := map[string]bool{}
	for _, name := range f.params {
		f.begins[name], set[name] = withoutValue, true
	}
	f.read(f.events, set)
	for _, inner := range f.inner {
		inner.resolve()
	}
}

// read adds the names of events to begins, and those that are set to set. As not all branches
// of an if run, what one of them sets has the value from around before.
func (f *frame) read(events []event, set map[string]bool) {
	for _, e := range events {
		_, own := f.begins[e.name]
		switch {
		case e.branches != nil:
			before := maps.Clone(set)
			f.read(e.branches, set)
			for name := range set {
				if !before[name] {
					f.begins[name] = f.around(name, fromVariables)
				}
			}
		case e.set:
			if set[e.name] = true; !own {
				f.begins[e.name] = f.around(e.name, withoutValue)
			}
		case !own && !f.outer.has(e.name):
			f.begins[e.name] = fromVariables
		}
	}
}

func (f *frame) around(name string, otherwise beginning) beginning {
	if f.outer.has(name) {
		return fromOuter
	}
	return otherwise
}

// scope has the values of a frame's names.
type scope struct {
	outer  *scope
	values map[string]any
}

// A name without a value, and one whose value is a variable given to Render: those are many,
// and a template reads few.
type (
	absent struct{}
	unread struct{}
)

// within runs a frame.
func (r *renderer) within(f *frame, run func()) {
	outer := r.scope
	r.scope = &scope{outer: outer, values: make(map[string]any, len(f.begins))}
	for name, b := range f.begins {
		switch b {
		case fromVariables:
			r.scope.values[name] = unread{}
		case fromOuter:
			r.scope.values[name] = outer.get(name)
		default:
			r.scope.values[name] = absent{}
		}
	}
	run()
	r.scope = outer
}

func (s *scope) get(name string) any {
	for ; s != nil; s = s.outer {
		if v, ok := s.values[name]; ok {
			return v
		}
	}
	return absent{}
}

// functions of Jinja2 that its templates see as variables.
var functions = strings.Fields("range dict lipsum cycler joiner namespace")

// lookup returns the value of a name.
func (r *renderer) lookup(name string, at int) any {
	switch v := r.scope.get(name).(type) {
	case unread:
	case absent:
		return &undefined{mistake: func() *mistake { return mistakeAt(at, "%s has no value here: the template sets it elsewhere", name) }}
	case *macro:
		panic(mistakeAt(at, "the macro %s can only be called", name))
	default:
		return v
	}
	v, ok := r.vars.get(name)
	switch {
	case ok:
		r.at = at
		return fromGo(v)
	case slices.Contains(functions, name):
		panic(mistakeAt(at, "the function %s is not supported as a value", name))
	}
	return &undefined{mistake: func() *mistake {
		m := mistakeAt(at, "unknown variable %q", name)
		m.hint = available(name, r.vars)
		return m
	}}
}
