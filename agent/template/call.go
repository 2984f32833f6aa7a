package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"batch.example/batch/internal/printable"
)

// builtin is a filter, a test, a method or a function that templates can use. The value that
// a filter or a method is applied to is its first argument.
type builtin struct {
	params     []parameter
	required   int
	positional bool // no argument can be named
	rest       bool // the last but one parameter takes the other arguments, the last one those with names
	run        func(r *renderer, a []any) any
}

type parameter struct {
	name  string
	value any // if no argument is given
}

// def defines a builtin. The signature is Python's, without blanks around "=": parameters
// with a default are optional; "/" in front: none can be named; "*" at the end: any others.
func def(signature string, run func(r *renderer, a []any) any) *builtin {
	b := &builtin{run: run}
	for _, word := range strings.Fields(signature) {
		name, value, optional := strings.Cut(word, "=")
		switch {
		case name == "/":
			b.positional = true
		case name == "*":
			b.rest = true
		case optional:
			b.params = append(b.params, parameter{name, literal(value)})
		default:
			b.params = append(b.params, parameter{name, nil})
			b.required++
		}
	}
	return b
}

func literal(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	switch text {
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	}
	return strings.Trim(text, "'")
}

// call passes arguments as Python does: the list in order, the others by their names.
func (b *builtin) call(r *renderer, g given) any {
	a := make([]any, len(b.params), len(b.params)+2)
	for i, p := range b.params {
		a[i] = p.value
	}
	n := min(len(g.list), len(a))
	copy(a, g.list[:n])
	known := n
	rest := &Dict{}
	if g.named != nil {
		known += b.byName(a, n, g.named, rest)
	}
	switch {
	case len(g.list) > n && !b.rest:
		failf("expected at most %s, found %d", printable.Count(len(a)-1, "argument", "arguments"), len(g.list)-1)
	case known < b.required && n < b.required:
		b.complete(n, g)
	}
	if b.rest {
		a = append(a, g.list[n:], rest)
	}
	return b.run(r, a)
}

func (b *builtin) byName(a []any, n int, named, rest *Dict) (known int) {
	for i, key := range named.keys {
		at := -1
		for j := 1; j < len(b.params) && !b.positional; j++ {
			if b.params[j].name == key {
				at = j
			}
		}
		switch {
		case at >= n:
			a[at] = named.values[i]
			known++
		case at >= 0:
			failf("the argument %q is given twice", str(key))
		case b.rest:
			rest.set(key, named.values[i])
		default:
			failf("there is no argument %q", str(key))
		}
	}
	return known
}

// complete refuses a call that lacks an argument without a default.
func (b *builtin) complete(n int, g given) {
	for _, p := range b.params[n:b.required] {
		if g.named == nil || g.named.find(p.name) < 0 {
			failf("the argument %q is missing", p.name)
		}
	}
}

// method is a builtin of a value.
type method struct {
	of   any
	run  *builtin
	name string
}

// escaping are the methods of a safe text that escape their arguments.
var escaping = strings.Fields("replace ljust rjust center lstrip rstrip strip removeprefix removesuffix")

// function is a value that can be called.
type function func(r *renderer, g given) any

func (r *renderer) call(f any, g given) any {
	switch f := f.(type) {
	case *method:
		if escapes(f.of) && slices.Contains(escaping, f.name) {
			for i, v := range g.list {
				if _, ok := stringOf(v); ok {
					g.list[i] = safe(escapeHTML(v))
				}
			}
		}
		return f.run.call(r, given{append([]any{f.of}, g.list...), g.named})
	case function:
		return f(r, g)
	case *builtin:
		return f.call(r, given{append([]any{nil}, g.list...), g.named})
	case *macro:
		return f.call(r, g)
	case *loop:
		return f.again(r, g)
	}
	failf("%s cannot be called", kind(f))
	return nil
}

// Arguments of a certain kind.

func wholeNumber(v any) int {
	n, _, isFloat, ok := number(v)
	if !ok || isFloat {
		failf("expected a whole number, found %s", describe(v))
	}
	return n
}

func stringArg(v any) string {
	s, ok := stringOf(v)
	if !ok {
		failf("expected text, found %s", describe(v))
	}
	return s
}

func dictArg(v any) *Dict {
	d, ok := v.(*Dict)
	if !ok {
		failf("expected a dict, found %s", kind(v))
	}
	return d
}

func describe(v any) string {
	if n, ok := v.(float64); ok {
		return fmt.Sprintf("the number %s", floatRepr(n))
	}
	return kind(v)
}

// The tables refer to each other: filters take the names of filters and tests.
var filters, tests, stringMethods func() map[string]*builtin

func init() {
	filters, tests, stringMethods = sync.OnceValue(allFilters), sync.OnceValue(allTests), sync.OnceValue(allStringMethods)
}
