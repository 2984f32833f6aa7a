package template

import (
	"maps"
	"slices"
	"strings"
)

// In Jinja2, the text of a template decides in which frame a name is looked up, whatever has been set so far:
// a name that is set anywhere in a loop's body belongs to that body, and begins with the outer value. Each
// frame lists its reads and sets in order, and resolve decides about their names after the whole template has
// been parsed.

// frame is a part of a template with its own names: the template itself; the body of a loop, a macro or a
// set; the test of a loop; and the body of its else.
type frame struct {
	outer  *frame
	inner  []*frame
	params []string
	events []event
	begins map[string]beginning // first values of the frame's own names
}

// event is a read or a set of a name, or the events in the branches of an if.
type event struct {
	name     string
	set      bool
	branches []event
}

// beginning says which value a name has when its frame begins.
type beginning byte

const (
	withoutValue  beginning = iota
	fromVariables           // the variable given to Render
	fromOuter               // the value of this name in the outer frame
)

// inner parses a frame within the current one.
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

// resolve computes begins of the frame and of the frames within it.
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

// read adds the names of events to begins, and adds set names to set. Not all branches of an if run: a name
// that one of them sets has the value from around before.
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

// scope holds the values of a frame's names.
type scope struct {
	outer  *scope
	values map[string]any
}

// Values that are replaced when they are read: absent for a name without a value, and unread for a variable
// given to Render. There are many variables, and a template reads few.
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

// functions lists Jinja2's functions, which its templates see as variables.
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
