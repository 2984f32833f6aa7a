package template

import (
	"math"
	"math/big"
	"slices"
	"strings"
)

// number returns v as a whole number, or as a float if it is one.
func number(v any) (n int, f float64, isFloat, ok bool) {
	switch v := v.(type) {
	case bool:
		n = asInt(v)
	case int:
		n = v
	case float64:
		return 0, v, true, true
	default:
		return 0, 0, false, false
	}
	return n, float64(n), false, true
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

const tooLarge = "a whole number needs more than 64 bits"

// notNaN returns f. NaN is refused, because Python's comparison of two NaNs depends on their origin.
func notNaN(f float64) float64 {
	if math.IsNaN(f) {
		failf("a number is NaN")
	}
	return f
}

// operate applies Python's operator op, or ~.
func operate(op string, a, b any) any {
	if op == "~" {
		s, t := str(a), str(b)
		bounded(len(s) + len(t))
		return s + t
	}
	n, f, aFloat, aNumber := number(a)
	m, g, bFloat, bNumber := number(b)
	s, aText := a.(string)
	t, bText := b.(string)
	x, aList := a.(*list)
	y, bList := b.(*list)
	switch {
	case aNumber && bNumber && (aFloat || bFloat):
		return notNaN(operateFloats(op, f, g))
	case aNumber && bNumber:
		return operateInts(op, n, m)
	case op == "+" && aText && bText:
		bounded(len(s) + len(t))
		return s + t
	case op == "+" && aList && bList && x.tuple == y.tuple:
		bounded(itemSize * (len(x.items) + len(y.items)))
		return &list{items: slices.Concat(x.items, y.items), tuple: x.tuple}
	case op == "*" && aText && bNumber && !bFloat:
		return repeated(s, m)
	case op == "*" && bText && aNumber && !aFloat:
		return repeated(t, n)
	case op == "%" && aText:
		failf("%% with text is not supported: join texts with ~")
	}
	failf("%s is not possible with %s and %s", op, kind(a), kind(b))
	return nil
}

func repeated(s string, n int) string {
	if n = max(n, 0); s != "" && n > maxSize/len(s) {
		bounded(maxSize + 1)
	}
	return strings.Repeat(s, n)
}

func operateInts(op string, n, m int) any {
	a, b := big.NewInt(int64(n)), big.NewInt(int64(m))
	result := new(big.Int)
	switch {
	case op == "+":
		result.Add(a, b)
	case op == "-":
		result.Sub(a, b)
	case op == "*":
		result.Mul(a, b)
	case m == 0:
		failf("division by zero")
	case op == "/": // the nearest float to the exact quotient
		f, _ := new(big.Rat).SetFrac(a, b).Float64()
		return f
	default: // both round down
		rest := n % m
		if rest != 0 && (rest < 0) != (m < 0) {
			rest += m
		}
		if op == "%" {
			return rest
		}
		result.Quo(a.Sub(a, big.NewInt(int64(rest))), b)
	}
	if !result.IsInt64() {
		failf(tooLarge)
	}
	return int(result.Int64())
}

func operateFloats(op string, f, g float64) float64 {
	switch op {
	case "+":
		return f + g
	case "-":
		return f - g
	case "*":
		return f * g
	}
	if g == 0 {
		failf("division by zero")
	}
	if op != "/" {
		failf("%s is possible only with whole numbers: use the filter int", op)
	}
	return f / g
}

// compareNumbers compares exactly, like Python: not every whole number is a float.
func compareNumbers(a, b any) (c int, ok bool) {
	exact := func(v any) *big.Float {
		n, f, isFloat, isNumber := number(v)
		ok = ok && isNumber
		if isFloat {
			return big.NewFloat(f)
		}
		return new(big.Float).SetInt64(int64(n))
	}
	ok = true
	return exact(a).Cmp(exact(b)), ok
}

// same is Python's ==.
func same(a, b any) bool {
	if c, ok := compareNumbers(a, b); ok {
		return c == 0
	}
	for _, v := range []any{a, b} {
		switch v := v.(type) {
		case *view:
			failf("%s cannot be compared: add | list", kind(v))
		case *undefined:
			panic(v.mistake())
		}
	}
	if s, ok := textOf(a); ok {
		t, both := textOf(b)
		return both && s == t
	}
	switch x := a.(type) {
	case *list:
		y, both := b.(*list)
		return both && x.tuple == y.tuple && slices.EqualFunc(x.items, y.items, same)
	case *Dict:
		y, both := b.(*Dict)
		return both && len(x.keys) == len(y.keys) && !slices.ContainsFunc(x.keys, func(k any) bool {
			v, _ := x.get(k)
			w, ok := y.get(k)
			return !ok || !same(v, w)
		})
	}
	return a == nil && b == nil
}

// order compares numbers or texts.
func order(op string, a, b any) int {
	c, ok := compareNumbers(a, b)
	s, aText := textOf(a)
	t, bText := textOf(b)
	switch {
	case aText && bText:
		return strings.Compare(s, t)
	case !ok:
		failf("%s is not possible with %s and %s", op, kind(a), kind(b))
	}
	return c
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
	c := order(op, a, b)
	return map[string]bool{"<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[op]
}

func contains(in, v any) bool {
	if s, ok := textOf(in); ok {
		part, ok := textOf(v)
		if !ok {
			failf("a text contains text, not %s", kind(v))
		}
		return strings.Contains(s, part)
	}
	if d, ok := in.(*Dict); ok {
		_, ok := d.get(v)
		return ok
	}
	return slices.ContainsFunc(iterate(in), func(item any) bool { return same(item, v) })
}
