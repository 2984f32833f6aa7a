package template

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// str is Python's str(v).
func str(v any) string {
	if s, ok := stringOf(v); ok {
		return s
	}
	if u, ok := v.(*undefined); ok {
		if !u.lax {
			u.use()
		}
		return ""
	}
	return repr(v)
}

// repr is Python's repr(v).
func repr(v any) string {
	var b strings.Builder
	writeRepr(&b, v, 0)
	return b.String()
}

func writeRepr(b *strings.Builder, v any, depth int) {
	if depth > maxDepth {
		failf("a value has more than %d levels", maxDepth)
	}
	bounded(b.Len())
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int:
		b.WriteString(strconv.Itoa(v))
	case float64:
		b.WriteString(floatRepr(v))
	case string:
		quote(b, v)
	case safe:
		b.WriteString("Markup(")
		quote(b, string(v))
		b.WriteString(")")
	case octets:
		quoteBytes(b, string(v))
	case *list:
		writeItems(b, "[", v.items, "]", depth)
	case *tuple:
		end := ")"
		if len(v.items) == 1 {
			end = ",)"
		}
		writeItems(b, "(", v.items, end, depth)
	case *Dict:
		b.WriteString("{")
		for i, k := range v.keys {
			separate(b, i)
			writeRepr(b, k, depth+1)
			b.WriteString(": ")
			writeRepr(b, v.values[i], depth+1)
		}
		b.WriteString("}")
	default:
		writeOther(b, v, depth)
	}
}

func writeOther(b *strings.Builder, v any, depth int) {
	switch v := v.(type) {
	case *view:
		b.WriteString("dict_" + v.what + "(")
		writeItems(b, "[", v.items(), "])", depth)
	case interval:
		fmt.Fprintf(b, "range(%d, %d", v.start, v.stop)
		if v.step != 1 {
			fmt.Fprintf(b, ", %d", v.step)
		}
		b.WriteString(")")
	case *namespace:
		b.WriteString("<Namespace ")
		writeRepr(b, v.members, depth+1)
		b.WriteString(">")
	case *macro:
		name := "anonymous"
		if v.name != "" {
			name = repr(v.name)
		}
		b.WriteString("<Macro " + name + ">")
	case *loop:
		fmt.Fprintf(b, "<LoopContext %d/%d>", v.at+1, len(v.items))
	case *undefined:
		b.WriteString("Undefined")
	case *stream:
		fmt.Fprintf(b, "<generator object do_%s at %s>", v.of, address)
	case *method:
		fmt.Fprintf(b, "<built-in method %s of %s object at %s>", v.name, typeName(v.of), address)
	default:
		fmt.Fprintf(b, "<function at %s>", address)
	}
}

// address stands for the address of an object, which differs in each run of Python.
const address = "0x7f0000000000"

func typeName(v any) string {
	return map[string]string{"text": "str", "bytes": "bytes", "a list": "list", "a tuple": "tuple", "a dict": "dict", "a number": "int", "true or false": "bool"}[kind(v)]
}

func separate(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

func writeItems(b *strings.Builder, begin string, items []any, end string, depth int) {
	b.WriteString(begin)
	for i, v := range items {
		separate(b, i)
		writeRepr(b, v, depth+1)
	}
	b.WriteString(end)
}

func quoteMark(s string) byte {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return '"'
	}
	return '\''
}

func quote(b *strings.Builder, s string) {
	mark := quoteMark(s)
	b.WriteByte(mark)
	for _, r := range s {
		switch {
		case r == rune(mark) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(escaped(r))
		}
	}
	b.WriteByte(mark)
}

func escaped(r rune) string {
	switch {
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

func quoteBytes(b *strings.Builder, s string) {
	mark := quoteMark(s)
	b.WriteByte('b')
	b.WriteByte(mark)
	for i := range len(s) {
		switch c := s[i]; {
		case c == mark || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(b, `\x%02x`, c)
		}
	}
	b.WriteByte(mark)
}

// ascii is Python's ascii(v).
func ascii(v any) string {
	var b strings.Builder
	for _, r := range repr(v) {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			b.WriteString(escaped(r))
		}
	}
	return b.String()
}

// floatRepr is the shortest text from which Python reads f again.
func floatRepr(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
