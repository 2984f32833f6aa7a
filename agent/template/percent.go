package template

import (
	"math"
	"strings"
	"unicode/utf8"
)

// percent is Python's text % values. With escape, values are escaped for HTML.
func percent(text string, values any, escape bool) string {
	var b strings.Builder
	args, isTuple := values.(*tuple)
	named, _ := values.(*Dict)
	used := 0
	next := func() any {
		switch {
		case isTuple && used < len(args.items):
			used++
			return args.items[used-1]
		case !isTuple && used == 0:
			used++
			return values
		}
		failf("the text has more places than values")
		return nil
	}
	for {
		before, rest, found := strings.Cut(text, "%")
		b.WriteString(before)
		bounded(b.Len())
		if !found {
			break
		}
		var get func() any
		if strings.HasPrefix(rest, "(") {
			end := strings.Index(rest, ")")
			if end < 0 || named == nil {
				failf("%%(name) needs a dict")
			}
			key := rest[1:end]
			get = func() any {
				v, ok := named.get(key)
				if !ok {
					failf("the dict has no %q", key)
				}
				used = 1
				return v
			}
			rest = rest[end+1:]
		}
		text = place(&b, rest, next, get, escape)
	}
	_, isList := values.(*list)
	if used == 0 && named == nil && !isTuple && !isList || isTuple && used < len(args.items) {
		failf("the text has fewer places than values")
	}
	return b.String()
}

// place writes one value by the rest of its place, and returns the rest of the text.
func place(b *strings.Builder, rest string, next, get func() any, escape bool) string {
	l := layout{fill: " ", precision: -1}
	left, zero := false, false
	for ; rest != "" && strings.IndexByte("-+ #0", rest[0]) >= 0; rest = rest[1:] {
		switch rest[0] {
		case '-':
			left = true
		case '0':
			zero = true
		case '#':
			l.alternate = true
		default:
			if l.sign != '+' {
				l.sign = rest[0]
			}
		}
	}
	size := func() (n int) {
		if after, ok := strings.CutPrefix(rest, "*"); ok {
			rest = after
			return bounded(wholeNumber(next()))
		}
		n, rest = leadingNumber(rest)
		return n
	}
	l.width = size()
	if after, ok := strings.CutPrefix(rest, "."); ok {
		rest = after
		l.precision = size()
	}
	rest = strings.TrimLeft(rest, "hlL")
	if rest == "" {
		failf("the text ends within a place")
	}
	l.verb = rest[0]
	if l.verb == '%' {
		b.WriteByte('%')
		return rest[1:]
	}
	if get == nil {
		get = next
	}
	if left {
		l.align = '<'
	} else if zero && strings.IndexByte("srac", l.verb) < 0 {
		l.fill, l.align = "0", '='
	}
	b.WriteString(l.pad(l.placed(get(), escape), '>'))
	return rest[1:]
}

func (l layout) placed(v any, escape bool) string {
	n, f, isFloat, ok := number(v)
	switch l.verb {
	case 's':
		if escape {
			return cutTo(escapeHTML(v), l.precision)
		}
		return cutTo(str(v), l.precision)
	case 'r':
		return cutTo(repr(v), l.precision)
	case 'a':
		return cutTo(ascii(v), l.precision)
	case 'c':
		if s, ok := stringOf(v); ok && utf8.RuneCountInString(s) == 1 {
			return s
		}
		return string(rune(wholeNumber(v)))
	case 'd', 'i', 'u', 'x', 'X', 'o':
		if isFloat && strings.IndexByte("diu", l.verb) >= 0 {
			n = toInt(f)
		} else if !ok || isFloat {
			failf("%%%c needs a number, found %s", l.verb, describe(v))
		}
		digits := l.whole(n, "")
		if missing := l.precision - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		return l.signed(n < 0, digits)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if !ok {
			failf("%%%c needs a number, found %s", l.verb, describe(v))
		}
		return l.signed(math.Signbit(f) && !math.IsNaN(f), l.float(math.Abs(f)))
	}
	failf("%%%c is not a format", l.verb)
	return ""
}

// toInt is Python's int(f).
func toInt(f float64) int {
	if math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		failf("%s is not a whole number of 64 bits", floatRepr(f))
	}
	return int(f)
}
