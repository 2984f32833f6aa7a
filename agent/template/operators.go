package template

import (
	"math"
	"math/bits"
	"slices"
	"strings"
)

// number returns v as a whole number or, if it is one, as a float.
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

const tooLarge = "the result needs more than 64 bits"

// operate is the operator op of Python.
func operate(op string, a, b any) any {
	n, f, aFloat, aNumber := number(a)
	m, g, bFloat, bNumber := number(b)
	switch {
	case aNumber && bNumber && (aFloat || bFloat):
		return operateFloats(op, f, g)
	case aNumber && bNumber:
		return operateInts(op, n, m)
	case op == "+":
		if v, ok := concatenated(a, b); ok {
			return v
		}
	case op == "*" && aNumber && !aFloat:
		if v, ok := repeated(b, n); ok {
			return v
		}
	case op == "*" && bNumber && !bFloat:
		if v, ok := repeated(a, m); ok {
			return v
		}
	case op == "%":
		switch s := a.(type) {
		case string:
			return percent(s, b, false)
		case safe:
			return safe(percent(string(s), b, true))
		}
	}
	failf("%s is not possible with %s and %s", op, kind(a), kind(b))
	return nil
}

func concatenated(a, b any) (any, bool) {
	s, isText := stringOf(a)
	t, both := stringOf(b)
	if isText && both {
		bounded(len(s) + len(t))
		_, aSafe := a.(safe)
		_, bSafe := b.(safe)
		if aSafe || bSafe {
			return safe(escapeHTML(a) + escapeHTML(b)), true
		}
		return s + t, true
	}
	x, isList := a.(*list)
	y, both := b.(*list)
	if isList && both {
		boundedItems(len(x.items) + len(y.items))
		return &list{items: slices.Concat(x.items, y.items)}, true
	}
	p, isTuple := a.(*tuple)
	q, both := b.(*tuple)
	if isTuple && both {
		return &tuple{items: slices.Concat(p.items, q.items)}, true
	}
	return nil, false
}

func repeated(v any, n int) (any, bool) {
	n = max(n, 0)
	size := func(one int) int {
		if one > 0 && n > most/one {
			bounded(most + 1)
		}
		return n
	}
	switch v := v.(type) {
	case string:
		return strings.Repeat(v, size(len(v))), true
	case safe:
		return safe(strings.Repeat(string(v), size(len(v)))), true
	case *list:
		return &list{items: slices.Repeat(v.items, size(itemSize*len(v.items)))}, true
	case *tuple:
		return &tuple{items: slices.Repeat(v.items, size(itemSize*len(v.items)))}, true
	}
	return nil, false
}

func operateInts(op string, n, m int) any {
	switch op {
	case "+":
		if sum := n + m; (sum > n) == (m > 0) {
			return sum
		}
	case "-":
		if difference := n - m; (difference < n) == (m > 0) {
			return difference
		}
	case "*":
		if product, ok := multiplied(n, m); ok {
			return product
		}
	case "**":
		return power(n, m)
	default:
		if m == 0 {
			failf("division by zero")
		}
		switch {
		case op == "/":
			return float64(n) / float64(m)
		case op == "%" && m == -1:
			return 0
		case op == "%":
			return floorMod(n, m)
		case n != math.MinInt || m != -1:
			return (n - floorMod(n, m)) / m
		}
	}
	failf(tooLarge)
	return nil
}

func floorMod(n, m int) int {
	r := n % m
	if r != 0 && (r < 0) != (m < 0) {
		r += m
	}
	return r
}

func multiplied(n, m int) (int, bool) {
	hi, lo := bits.Mul64(uint64(max(n, -n)), uint64(max(m, -m)))
	product := n * m
	return product, hi == 0 && lo <= math.MaxInt64
}

func power(n, m int) any {
	if m < 0 {
		return operateFloats("**", float64(n), float64(m))
	}
	result := 1
	for ; m > 0; m-- {
		if n == 0 || n == 1 {
			return n
		}
		if n == -1 {
			return 1 - 2*(m%2)
		}
		var ok bool
		if result, ok = multiplied(result, n); !ok {
			failf(tooLarge)
		}
	}
	return result
}

func operateFloats(op string, f, g float64) any {
	switch op {
	case "+":
		return f + g
	case "-":
		return f - g
	case "*":
		return f * g
	case "**":
		v := math.Pow(f, g)
		switch {
		case f == 0 && g < 0:
			failf("division by zero")
		case math.IsNaN(v) && !math.IsNaN(f) && !math.IsNaN(g):
			failf("the result is a complex number")
		case math.IsInf(v, 0) && !math.IsInf(f, 0) && !math.IsInf(g, 0):
			failf("the result is too large")
		}
		return v
	}
	if g == 0 {
		failf("division by zero")
	}
	if op == "/" {
		return f / g
	}
	rest := math.Mod(f, g)
	quotient := (f - rest) / g
	if rest != 0 && (rest < 0) != (g < 0) {
		rest += g
		quotient--
	} else if rest == 0 {
		rest = math.Copysign(0, g)
	}
	if op == "%" {
		return rest
	}
	if floor := math.Floor(quotient); quotient-floor > 0.5 {
		return floor + 1
	} else if quotient != 0 {
		return floor
	}
	return math.Copysign(0, f/g)
}
