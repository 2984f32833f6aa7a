package template

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"batch.example/batch/internal/python"
)

func absolute(_ *renderer, a []any) any {
	n, f, isFloat, ok := number(a[0])
	switch {
	case !ok:
		failf("expected a number, found %s", kind(a[0]))
	case isFloat:
		return math.Abs(f)
	case n < 0:
		return operate("*", n, -1)
	}
	return n
}

func fileSize(_ *renderer, a []any) any {
	size, ok := floatOf(a[0])
	if !ok {
		failf("expected a number, found %s", kind(a[0]))
	}
	base, names := 1000.0, strings.Fields("kB MB GB TB PB EB ZB YB")
	if truth(a[1]) {
		base, names = 1024, strings.Fields("KiB MiB GiB TiB PiB EiB ZiB YiB")
	}
	switch {
	case size == 1:
		return "1 Byte"
	case size < base:
		return strconv.Itoa(toInt(size)) + " Bytes"
	}
	for i, name := range names {
		if unit := math.Pow(base, float64(i+2)); size < unit || i == len(names)-1 {
			return strconv.FormatFloat(base*size/unit, 'f', 1, 64) + " " + name
		}
	}
	return nil
}

// floatOf is Python's float(v).
func floatOf(v any) (float64, bool) {
	if _, f, _, ok := number(v); ok {
		return f, true
	}
	s, ok := stringOf(v)
	if !ok {
		if u, ok := v.(*undefined); ok && !u.lax {
			u.use()
		}
		return 0, false
	}
	s = python.Strip(s)
	if strings.ContainsAny(s, "xXpP") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

func toFloat(_ *renderer, a []any) any {
	if f, ok := floatOf(a[0]); ok {
		return f
	}
	return a[1]
}

func toWhole(_ *renderer, a []any) any {
	n, _, isFloat, ok := number(a[0])
	if ok && !isFloat {
		return n
	}
	if s, isText := stringOf(a[0]); isText {
		if n, ok := parsedInt(s, wholeNumber(a[2])); ok {
			return n
		}
	}
	f, ok := floatOf(a[0])
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		return a[1]
	}
	return toInt(f)
}

// parsedInt is Python's int(text, base).
func parsedInt(s string, base int) (int, bool) {
	s = strings.ToLower(python.Strip(s))
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	for prefix, b := range map[string]int{"0x": 16, "0o": 8, "0b": 2} {
		if base == b {
			s = strings.TrimPrefix(s, prefix)
		}
	}
	if base != 0 {
		if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
			return 0, false
		}
		s = strings.ReplaceAll(s, "_", "")
	}
	if s == "" || s[0] == '-' || s[0] == '+' || base < 0 || base == 1 || base > 36 {
		return 0, false
	}
	n, err := strconv.ParseInt(sign+s, base, 64)
	return int(n), err == nil
}

func rounded(_ *renderer, a []any) any {
	n, f, isFloat, ok := number(a[0])
	if !ok {
		failf("expected a number, found %s", kind(a[0]))
	}
	digits := wholeNumber(a[1])
	scale := math.Pow(10, float64(digits))
	switch stringArg(a[2]) {
	case "ceil":
		return math.Ceil(f*scale) / scale
	case "floor":
		return math.Floor(f*scale) / scale
	case "common":
	default:
		failf("the method is common, ceil or floor, not %q", str(a[2]))
	}
	switch {
	case !isFloat && digits >= 0:
		return n
	case !isFloat:
		return roundedWhole(n, -digits)
	case math.IsNaN(f) || math.IsInf(f, 0) || digits > 320:
		return f
	case digits >= 0:
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
		return f
	}
	// Half of a unit is rounded to the even one, as strconv does behind the point.
	shifted, _ := new(big.Float).SetString(strconv.FormatFloat(f, 'f', -1, 64) + "e" + strconv.Itoa(digits))
	v, _ := strconv.ParseFloat(shifted.Text('f', 0)+"e"+strconv.Itoa(-digits), 64)
	return v
}

// roundedWhole rounds n to a multiple of a power of ten, half to the even one.
func roundedWhole(n, digits int) any {
	if digits > 18 {
		return 0
	}
	unit := 1
	for range digits {
		unit *= 10
	}
	rest := floorMod(n, unit)
	down := n - rest
	if rest*2 > unit || rest*2 == unit && floorMod(down/unit, 2) == 1 {
		down += unit
	}
	return down
}
