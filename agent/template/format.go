package template

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// layout is a format of Python: [[fill]align][sign][#][0][width][grouping][.precision][type].
type layout struct {
	fill      string
	align     byte
	sign      byte
	alternate bool
	width     int
	group     string
	precision int // or -1
	verb      byte
}

// parseLayout parses a format specification of str.format.
func parseLayout(spec string) layout {
	l := layout{fill: " ", precision: -1}
	rest := spec
	_, first := utf8.DecodeRuneInString(rest)
	isAlign := func(s string) bool { return s != "" && strings.IndexByte("<>=^", s[0]) >= 0 }
	if isAlign(rest[first:]) {
		l.fill, l.align, rest = rest[:first], rest[first], rest[first+1:]
	} else if isAlign(rest) {
		l.align, rest = rest[0], rest[1:]
	}
	if rest != "" && strings.IndexByte("+- ", rest[0]) >= 0 {
		l.sign, rest = rest[0], rest[1:]
	}
	rest, _ = strings.CutPrefix(rest, "z")
	rest, l.alternate = strings.CutPrefix(rest, "#")
	if strings.HasPrefix(rest, "0") {
		if l.fill == " " && !strings.HasPrefix(spec, " ") {
			l.fill = "0"
		}
		if l.align == 0 {
			l.align = '='
		}
	}
	l.width, rest = leadingNumber(rest)
	if rest != "" && strings.IndexByte(",_", rest[0]) >= 0 {
		l.group, rest = rest[:1], rest[1:]
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		if after == "" || after[0] < '0' || after[0] > '9' {
			failf("the format %q lacks a number after the point", spec)
		}
		l.precision, rest = leadingNumber(after)
	}
	if len(rest) == 1 {
		l.verb, rest = rest[0], ""
	}
	if rest != "" {
		failf("%q is not a format", spec)
	}
	return l
}

func leadingNumber(s string) (int, string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, _ := strconv.Atoi(s[:i])
	return bounded(n), s[i:]
}

// pad fills a text up to the width of the format.
func (l layout) pad(text string, align byte) string {
	if l.align != 0 {
		align = l.align
	}
	missing := l.width - utf8.RuneCountInString(text)
	if missing <= 0 {
		return text
	}
	switch align {
	case '<':
		return text + strings.Repeat(l.fill, missing)
	case '^':
		return strings.Repeat(l.fill, missing/2) + text + strings.Repeat(l.fill, missing-missing/2)
	case '=':
		prefix := 0
		if strings.IndexByte("+- ", text[0]) >= 0 {
			prefix = 1
		}
		if strings.HasPrefix(text[prefix:], "0") && len(text) > prefix+1 && strings.IndexByte("xXbo", text[prefix+1]) >= 0 {
			prefix += 2
		}
		return text[:prefix] + strings.Repeat(l.fill, missing) + text[prefix:]
	}
	return strings.Repeat(l.fill, missing) + text
}

// formatted is Python's format(v, spec).
func formatted(v any, spec string) string {
	if spec == "" {
		return str(v)
	}
	if s, ok := stringOf(v); ok {
		l := parseLayout(spec)
		if l.verb != 0 && l.verb != 's' || l.sign != 0 || l.align == '=' && l.fill != "0" || l.group != "" {
			failf("%q is not a format for text", spec)
		}
		if l.align == '=' {
			l.align = '<'
		}
		return l.pad(cutTo(s, l.precision), '<')
	}
	n, f, isFloat, ok := number(v)
	if !ok {
		failf("%q is not a format for %s", spec, kind(v))
	}
	l := parseLayout(spec)
	if !isFloat && strings.IndexByte("eEfFgG%", max(l.verb, 1)) < 0 {
		if l.precision >= 0 {
			failf("a whole number has no precision, found the format %q", spec)
		}
		return l.grouped(l.signed(n < 0, l.whole(n, spec)))
	}
	if strings.IndexByte("eEfFgG%n", max(l.verb, 1)) < 0 && l.verb != 0 {
		failf("%q is not a format for a number with a point", spec)
	}
	return l.grouped(l.signed(math.Signbit(f) && !math.IsNaN(f), l.float(math.Abs(f))))
}

func cutTo(s string, n int) string {
	if n < 0 {
		return s
	}
	return s[:byteOffset(s, n)]
}

func (l layout) signed(negative bool, digits string) string {
	switch {
	case negative:
		return "-" + digits
	case l.sign == '+' || l.sign == ' ':
		return string(l.sign) + digits
	}
	return digits
}

func (l layout) whole(n int, spec string) string {
	size := uint64(max(n, -n))
	base, prefix := 10, ""
	switch l.verb {
	case 0, 'd', 'n', 'i', 'u':
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	case 'x':
		base, prefix = 16, "0x"
	case 'X':
		base, prefix = 16, "0X"
	case 'c':
		return string(rune(n))
	default:
		failf("%q is not a format for a whole number", spec)
	}
	digits := strconv.FormatUint(size, base)
	if l.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if !l.alternate {
		prefix = ""
	}
	return prefix + digits
}

func (l layout) float(f float64) string {
	verb, precision := l.verb, l.precision
	if precision < 0 {
		precision = 6
	}
	flag := ""
	if l.alternate {
		flag = "#"
	}
	var s string
	switch verb {
	case 0:
		if l.precision < 0 {
			s = floatRepr(f)
			break
		}
		s = fmt.Sprintf("%."+strconv.Itoa(max(precision, 1))+"g", f)
		if _, exp, _ := strings.Cut(s, "e"); exp == "" && !strings.Contains(s, ".") && !math.IsInf(f, 0) {
			if len(s) >= max(precision, 1) && len(s) > 1 || len(s) >= max(precision, 1) && precision <= 1 {
				s = fmt.Sprintf("%."+strconv.Itoa(max(precision-1, 0))+"e", f)
			} else {
				s += ".0"
			}
		}
	case '%':
		s = strconv.FormatFloat(f*100, 'f', precision, 64) + "%"
	case 'g', 'G', 'n':
		s = fmt.Sprintf("%"+flag+"."+strconv.Itoa(max(precision, 1))+"g", f)
	default:
		s = fmt.Sprintf("%"+flag+"."+strconv.Itoa(precision)+strings.ToLower(string(verb)), f)
	}
	s = strings.NewReplacer("+Inf", "inf", "NaN", "nan").Replace(s)
	if verb == 'E' || verb == 'F' || verb == 'G' {
		s = strings.ToUpper(s)
	}
	return s
}

// grouped adds separators of thousands and pads.
func (l layout) grouped(s string) string {
	if l.group == "" {
		return l.pad(s, '>')
	}
	begin := strings.IndexAny(s, "0123456789")
	if begin < 0 {
		return l.pad(s, '>')
	}
	size := 3
	if l.alternate && strings.IndexByte("xXbo", max(l.verb, 1)) >= 0 {
		begin += 2
	}
	if strings.IndexByte("xXbo", max(l.verb, 1)) >= 0 {
		size = 4
	}
	end := begin
	for end < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[end]) >= 0 && (size == 4 || s[end] <= '9') {
		end++
	}
	digits := s[begin:end]
	if l.align == '=' && l.fill == "0" {
		for room := l.width - (len(s) - len(digits)); len(digits)+(len(digits)-1)/size < room; {
			digits = "0" + digits
		}
	}
	for i := len(digits) - size; i > 0; i -= size {
		digits = digits[:i] + l.group + digits[i:]
	}
	return l.pad(s[:begin]+digits+s[end:], '>')
}
