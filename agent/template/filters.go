package template

import (
	"maps"
	"slices"
)

// allFilters are Jinja2's filters.
func allFilters() map[string]*builtin {
	all := map[string]*builtin{}
	maps.Copy(all, textFilters())
	maps.Copy(all, listFilters())
	maps.Copy(all, map[string]*builtin{
		"abs":            def("value", absolute),
		"attr":           def("value name", attr),
		"default":        def("value default_value='' boolean=False", orDefault),
		"filesizeformat": def("value binary=False", fileSize),
		"float":          def("value default=0.0", toFloat),
		"int":            def("value default=0 base=10", toWhole),
		"pprint": def("value", func(_ *renderer, a []any) any {
			p := &pretty{}
			p.value(sortedKeysOf(a[0], 0), 0, 0, 0)
			return p.b.String()
		}),
		"round":  def("value precision=0 method='common'", rounded),
		"tojson": def("value indent=None", func(_ *renderer, a []any) any { return toJSON(a[0], a[1]) }),
		"length": def("value", lengthOf),
		"string": def("value", func(_ *renderer, a []any) any {
			if s, ok := a[0].(safe); ok {
				return s
			}
			return str(a[0])
		}),
	})
	for alias, name := range map[string]string{"d": "default", "count": "length", "e": "escape"} {
		all[alias] = all[name]
	}
	return all
}

func sortedKeys(m map[string]*builtin) []string { return slices.Sorted(maps.Keys(m)) }

// lengthOf returns how long a text was before it was cut: a template computes from it how
// much the model does not see.
func lengthOf(r *renderer, a []any) any {
	if cut, ok := r.cut(); ok && a[0] == any(cut.Text) {
		return cut.Length
	}
	n, ok := length(a[0])
	if !ok {
		failf("%s has no length", kind(a[0]))
	}
	return n
}

func attr(r *renderer, a []any) any {
	name := stringArg(a[1])
	if v, ok := member(a[0], name); ok {
		return v
	}
	return r.missing(a[0], nil, name, r.at)
}

func orDefault(_ *renderer, a []any) any {
	if _, ok := a[0].(*undefined); ok || truth(a[2]) && !truth(a[0]) {
		return a[1]
	}
	return a[0]
}

// like returns s as the same kind of text as v.
func like(v any, s string) any {
	if _, ok := v.(safe); ok {
		return safe(s)
	}
	return s
}

func one(f func(string) string) *builtin {
	return def("value", func(_ *renderer, a []any) any { return like(a[0], f(str(a[0]))) })
}
