package template

import (
	"strconv"
	"strings"

	"batch.example/batch/internal/near"
)

func ignoreCase(v any) any {
	if s, ok := stringOf(v); ok {
		return lower(s)
	}
	return v
}

// key returns what a filter compares: an attribute, or several, or the value itself.
func (r *renderer) key(attribute, caseSensitive any) func(any) any {
	get := r.attribute(attribute, nil)
	return func(v any) any {
		if v = get(v); !truth(caseSensitive) {
			v = ignoreCase(v)
		}
		return v
	}
}

// attribute returns a function that reads an attribute, such as a.b.0, of a value.
func (r *renderer) attribute(name, otherwise any) func(any) any {
	var keys []any
	if s, ok := stringOf(name); ok {
		for part := range strings.SplitSeq(s, ".") {
			if n, err := strconv.Atoi(part); err == nil && n >= 0 {
				keys = append(keys, n)
			} else {
				keys = append(keys, part)
			}
		}
	} else if name != nil {
		keys = []any{name}
	}
	at := r.at
	return func(v any) any {
		for _, key := range keys {
			next, ok := itemOf(v, key)
			if !ok {
				if u, ok := v.(*undefined); ok {
					u.use()
				}
				next = r.missing(v, nil, key, at)
				if otherwise != nil {
					next = otherwise
				}
			}
			v = next
		}
		return v
	}
}

func dictSort(_ *renderer, a []any) any {
	at := 0
	switch str(a[2]) {
	case "key":
	case "value":
		at = 1
	default:
		failf(`by is "key" or "value", not %q`, str(a[2]))
	}
	return &list{items: sortedValues(dictArg(a[0]).items(), func(pair any) any {
		items, _ := sequence(pair)
		if truth(a[1]) {
			return items[at]
		}
		return ignoreCase(items[at])
	}, truth(a[3]))}
}

func sorted(r *renderer, a []any) any {
	var keys []func(any) any
	if names, ok := stringOf(a[3]); ok {
		for name := range strings.SplitSeq(names, ",") {
			keys = append(keys, r.key(name, a[2]))
		}
	} else {
		keys = append(keys, r.key(a[3], a[2]))
	}
	return &list{items: sortedValues(iterate(a[0]), func(v any) any {
		k := &list{}
		for _, key := range keys {
			k.items = append(k.items, key(v))
		}
		return k
	}, truth(a[1]))}
}

// others returns the arguments beside the value of a filter that takes any.
func others(a []any) ([]any, *Dict) {
	named, _ := a[2].(*Dict)
	list, _ := a[1].([]any)
	return list, named
}

func mapped(r *renderer, a []any) any {
	args, named := others(a)
	var f func(any) any
	if attribute, ok := named.get("attribute"); ok && len(args) == 0 {
		otherwise, _ := named.get("default")
		for _, k := range named.keys {
			if k != "attribute" && k != "default" {
				failf("there is no argument %q", str(k))
			}
		}
		f = r.attribute(attribute, otherwise)
	} else {
		if len(args) == 0 {
			failf("the name of a filter is missing")
		}
		run := known(r, filters(), str(args[0]), "filter")
		f = func(v any) any { return run.call(r, given{append([]any{v}, args[1:]...), named}) }
	}
	out := &stream{of: "map"}
	if !truth(a[0]) {
		return out
	}
	for _, v := range iterate(a[0]) {
		out.items = append(out.items, f(v))
	}
	return out
}

// known returns the builtin of a name that is a value.
func known(r *renderer, all map[string]*builtin, name, what string) *builtin {
	b, ok := all[name]
	if !ok {
		m := mistakeAt(r.at, "unknown %s %q", what, name)
		m.hint = near.Hint(near.Name(name, sortedKeys(all)), "")
		panic(m)
	}
	return b
}

func selected(r *renderer, a []any, want bool, name string) any {
	args, named := others(a)
	return selection(r, a[0], func(v any) any { return v }, args, named, want, name)
}

func selectedBy(r *renderer, a []any, want bool, name string) any {
	args, named := others(a)
	if len(args) == 0 {
		failf("the name of an attribute is missing")
	}
	return selection(r, a[0], r.attribute(args[0], nil), args[1:], named, want, name)
}

func selection(r *renderer, from any, get func(any) any, args []any, named *Dict, want bool, name string) any {
	test := truth
	if len(args) > 0 {
		run := known(r, tests(), str(args[0]), "test")
		test = func(v any) bool { return truth(run.call(r, given{append([]any{v}, args[1:]...), named})) }
	}
	out := &stream{of: name}
	if !truth(from) {
		return out
	}
	for _, v := range iterate(from) {
		if test(get(v)) == want {
			out.items = append(out.items, v)
		}
	}
	return out
}
