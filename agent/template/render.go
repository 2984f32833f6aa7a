package template

import (
	"fmt"
	"runtime"
	"strings"
)

// renderer is the state of one rendering. What fails in it panics with a *mistake.
type renderer struct {
	source string
	vars   Vars
	scope  *scope
	out    *strings.Builder
	at     int    // of the operation, for a mistake without a place
	filter string // that is being applied
	level  int
	rounds int // of all loops
	size   int // of all values that were built and of what was written
}

// scope has the variables that a part of a template sets.
type scope struct {
	parent *scope
	names  []string
	values []any
}

func (s *scope) set(name string, value any) {
	for i, n := range s.names {
		if n == name {
			s.values[i] = value
			return
		}
	}
	s.names, s.values = append(s.names, name), append(s.values, value)
}

// lookup returns a variable: one that the template sets, one of those given or a function.
// Those given are converted when they are first read: variables are many and a template
// reads few.
func (r *renderer) lookup(name string, at int) any {
	var outermost *scope
	for s := r.scope; s != nil; s = s.parent {
		for i, n := range s.names {
			if n == name {
				return s.values[i]
			}
		}
		outermost = s
	}
	if v, ok := r.vars.get(name); ok {
		v = fromGo(v)
		outermost.set(name, v)
		return v
	}
	if f, ok := functions()[name]; ok {
		return f
	}
	return &undefined{mistake: func() *mistake {
		m := mistakeAt(at, "unknown variable %q", name)
		m.hint = available(name, r.vars.all())
		return m
	}}
}

func (r *renderer) operation(at int) { r.at, r.filter = at, "" }

// maxRounds and maxSize bound loops and what is built in them, so that a rendering ends.
const (
	maxRounds = 1_000_000
	maxSize   = 1 << 26
)

// spend counts bytes.
func (r *renderer) spend(n int) {
	if r.size += n; r.size > maxSize {
		failf("the template builds more than %d bytes", maxSize)
	}
}

// built counts the size of a value.
func (r *renderer) built(v any) any {
	switch v := v.(type) {
	case string:
		r.spend(len(v))
	case safe:
		r.spend(len(v))
	case *stream:
		r.spend(itemSize * len(v.items))
	case *list, *tuple:
		items, _ := sequence(v)
		r.spend(itemSize * len(items))
	}
	return v
}

// maxLevels bounds macros and loops that call themselves: a full stack would end the
// process.
const maxLevels = 1000

// deeper counts a call of a macro or a loop; the function that it returns ends the call.
func (r *renderer) deeper() func() {
	if r.level++; r.level > maxLevels {
		failf("a macro or a loop calls itself more than %d levels deep", maxLevels)
	}
	return func() { r.level-- }
}

// cut returns the text that was cut, if there is one.
func (r *renderer) cut() (Cut, bool) {
	v, _ := r.vars.get(CutVar)
	cut, ok := v.(Cut)
	return cut, ok
}

// failed returns the mistake that p, the value of a panic, stands for.
func (r *renderer) failed(p any) *mistake {
	m, ok := p.(*mistake)
	if !ok {
		if e, ok := p.(runtime.Error); ok {
			p = e.Error()
		}
		m = mistakeAt(-1, "this cannot be evaluated: %v", p)
	}
	if m.offset < 0 {
		m.offset = r.at
		if r.filter != "" {
			m.text = fmt.Sprintf("filter %q: %s", r.filter, m.text)
		}
	}
	return m
}
