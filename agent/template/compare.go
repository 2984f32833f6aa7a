package template

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// same is Python's ==.
func same(a, b any) bool { return sameWithin(a, b, 0) }

func sameWithin(a, b any, depth int) bool {
	if depth > maxDepth {
		failf("a value has more than %d levels", maxDepth)
	}
	if u, ok := a.(*undefined); ok {
		return sameUndefined(u, b)
	}
	if u, ok := b.(*undefined); ok {
		return sameUndefined(u, a)
	}
	if _, f, aFloat, ok := number(a); ok {
		_, g, bFloat, both := number(b)
		if both && !aFloat && !bFloat {
			n, _, _, _ := number(a)
			m, _, _, _ := number(b)
			return n == m
		}
		return both && f == g
	}
	if s, ok := stringOf(a); ok {
		t, both := stringOf(b)
		return both && s == t
	}
	switch x := a.(type) {
	case *list:
		y, both := b.(*list)
		return both && sameItems(x.items, y.items, depth)
	case *tuple:
		y, both := b.(*tuple)
		return both && sameItems(x.items, y.items, depth)
	case *Dict:
		y, both := b.(*Dict)
		if !both || len(x.keys) != len(y.keys) {
			return false
		}
		for i, k := range x.keys {
			if v, ok := y.get(k); !ok || !sameWithin(x.values[i], v, depth+1) {
				return false
			}
		}
		return true
	case *method:
		return false
	}
	return a == b
}

func sameUndefined(u *undefined, other any) bool {
	if !u.lax {
		u.use()
	}
	_, both := other.(*undefined)
	return both
}

func sameItems(a, b []any, depth int) bool {
	return slices.EqualFunc(a, b, func(x, y any) bool { return sameWithin(x, y, depth+1) })
}

// order compares values that have an order.
func order(op string, a, b any) int { return orderWithin(op, a, b, 0) }

func orderWithin(op string, a, b any, depth int) int {
	if depth > maxDepth {
		failf("a value has more than %d levels", maxDepth)
	}
	n, f, aFloat, aNumber := number(a)
	m, g, bFloat, bNumber := number(b)
	switch {
	case aNumber && bNumber && !aFloat && !bFloat:
		return cmp.Compare(n, m)
	case aNumber && bNumber:
		return cmp.Compare(f, g)
	}
	s, aText := stringOf(a)
	t, bText := stringOf(b)
	if aText && bText {
		return strings.Compare(s, t)
	}
	x, aItems := sequence(a)
	y, bItems := sequence(b)
	_, aList := a.(*list)
	_, bList := b.(*list)
	if aItems && bItems && aList == bList {
		for i := range min(len(x), len(y)) {
			if !sameWithin(x[i], y[i], depth+1) {
				return orderWithin(op, x[i], y[i], depth+1)
			}
		}
		return cmp.Compare(len(x), len(y))
	}
	failf("%s is not possible with %s and %s", op, kind(a), kind(b))
	return 0
}

func compared(op string, a, b any) bool {
	switch op {
	case "==":
		return same(a, b)
	case "!=":
		return !same(a, b)
	case "in":
		return contains(b, a)
	case "not in":
		return !contains(b, a)
	}
	if isNaN(a) || isNaN(b) {
		return false
	}
	c := order(op, a, b)
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func isNaN(v any) bool {
	f, ok := v.(float64)
	return ok && math.IsNaN(f)
}

func contains(in, v any) bool {
	switch in := in.(type) {
	case string, safe:
		s, ok := stringOf(v)
		if !ok {
			failf("a text contains text, not %s", kind(v))
		}
		return strings.Contains(asText(in), s)
	case *Dict:
		return in.find(v) >= 0
	case interval:
		if n, ok := v.(int); ok {
			i := n - in.start
			return i%in.step == 0 && i/in.step >= 0 && i/in.step < in.length()
		}
	}
	items, ok := elements(in)
	if !ok {
		failf("in is not possible with %s", kind(in))
	}
	return slices.ContainsFunc(items, func(item any) bool { return same(item, v) })
}
