package template

// allTests are Jinja2's tests.
func allTests() map[string]*builtin {
	is := func(f func(v any) bool) *builtin {
		return def("value", func(_ *renderer, a []any) any { return f(a[0]) })
	}
	with := func(f func(v, other any) bool) *builtin {
		return def("value other", func(_ *renderer, a []any) any { return f(a[0], a[1]) })
	}
	modulo := func(v, n any) any {
		if _, ok := stringOf(v); ok {
			failf("expected a number, found text")
		}
		return operate("%", v, n)
	}
	kindOf := func(names ...string) func(any) bool {
		return func(v any) bool {
			if _, ok := v.(*undefined); ok {
				return false
			}
			k := kind(v)
			for _, name := range names {
				if k == name {
					return true
				}
			}
			return false
		}
	}
	all := map[string]*builtin{
		"defined":     is(func(v any) bool { _, ok := v.(*undefined); return !ok }),
		"undefined":   is(func(v any) bool { _, ok := v.(*undefined); return ok }),
		"odd":         is(func(v any) bool { return same(modulo(v, 2), 1) }),
		"even":        is(func(v any) bool { return same(modulo(v, 2), 0) }),
		"divisibleby": def("value num", func(_ *renderer, a []any) any { return same(modulo(a[0], a[1]), 0) }),
		"none":        is(func(v any) bool { return v == nil }),
		"boolean":     is(func(v any) bool { _, ok := v.(bool); return ok }),
		"true":        is(func(v any) bool { return v == any(true) }),
		"false":       is(func(v any) bool { return v == any(false) }),
		"integer":     is(func(v any) bool { _, ok := v.(int); return ok }),
		"float":       is(func(v any) bool { _, ok := v.(float64); return ok }),
		"number":      is(kindOf("a number", "true or false")),
		"string":      is(kindOf("text")),
		"mapping":     is(kindOf("a dict")),
		"lower":       is(func(v any) bool { return isLower(str(v)) }),
		"upper":       is(func(v any) bool { return isUpper(str(v)) }),
		"sequence": is(func(v any) bool {
			switch v.(type) {
			case *view, *loop, *undefined:
				return false
			}
			_, ok := length(v)
			return ok
		}),
		"iterable": is(func(v any) bool {
			switch v.(type) {
			case *stream, *loop:
				return true
			case *undefined:
				_ = truth(v)
				return true
			}
			_, ok := length(v)
			return ok
		}),
		"callable": is(func(v any) bool {
			switch v.(type) {
			case *method, function, *builtin, *macro, *loop, *undefined:
				return true
			}
			return false
		}),
		"escaped": is(func(v any) bool { _, ok := v.(safe); return ok }),
		"sameas": with(func(v, other any) bool {
			switch v.(type) {
			case *method, function:
				return false
			}
			return v == other
		}),
		"filter": is(func(v any) bool { return filters()[str(v)] != nil }),
		"in":     with(func(v, in any) bool { return contains(in, v) }),
	}
	all["test"] = is(func(v any) bool { return tests()[str(v)] != nil })
	for op, names := range map[string][]string{
		"==": {"==", "eq", "equalto"}, "!=": {"!=", "ne"}, ">": {">", "gt", "greaterthan"}, ">=": {">=", "ge"},
		"<": {"<", "lt", "lessthan"}, "<=": {"<=", "le"},
	} {
		for _, name := range names {
			all[name] = with(func(v, other any) bool { return compared(op, v, other) })
		}
	}
	return all
}
