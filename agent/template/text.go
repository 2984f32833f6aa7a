package template

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"batch.example/batch/internal/python"
)

// str returns Python's str(v).
func str(v any) string {
	if s, ok := textOf(v); ok {
		return s
	}
	if u, ok := v.(*undefined); ok {
		u.use()
		return ""
	}
	return repr(v)
}

// repr returns Python's repr(v).
func repr(v any) string {
	var parts []string
	size := 0
	add := func(part string) {
		parts = append(parts, part)
		size += len(part) + 2
		bounded(size)
	}
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case int:
		return strconv.Itoa(v)
	case float64:
		return floatRepr(v)
	case string:
		return quoted(v)
	case markup:
		return "Markup(" + quoted(string(v)) + ")"
	case *list:
		for _, item := range v.items {
			add(repr(item))
		}
		items := strings.Join(parts, ", ")
		switch {
		case !v.tuple:
			return "[" + items + "]"
		case len(parts) == 1:
			return "(" + items + ",)"
		}
		return "(" + items + ")"
	case *Dict:
		for i, k := range v.keys {
			add(repr(k) + ": " + repr(v.values[i]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *undefined:
		panic(v.mistake())
	}
	failf("%s cannot be written: add | list", kind(v))
	return ""
}

func quoted(s string) string {
	var b strings.Builder
	mark := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	b.WriteRune(mark)
	for _, r := range s {
		switch i := strings.IndexRune("\\\n\r\t"+string(mark), r); {
		case i >= 0:
			b.WriteString([]string{`\\`, `\n`, `\r`, `\t`, `\` + string(mark)}[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(mark)
	return b.String()
}

// floatRepr returns the shortest text that Python reads as f.
func floatRepr(f float64) string {
	if math.IsInf(f, 0) {
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+"))
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

// toJSON is Jinja2's filter tojson: sorted keys, only ASCII, and safe in HTML.
func toJSON(_ *renderer, v any, a []any) any {
	step := 0
	if a[0] != nil {
		step = max(wholeNumber(a[0]), 0)
	}
	if step > 64 {
		failf("the indent is more than 64 blanks")
	}
	data, err := python.Dumps(plain(v), step)
	if err != nil {
		failf("this cannot be written as JSON: %v", err)
	}
	text := string(data)
	if a[0] == nil {
		text = strings.NewReplacer(",\n", ", ", "\n", "").Replace(text)
	}
	return markup(strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`).Replace(text))
}

// plain returns a value that encoding/json encodes like Python.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, int, string:
		return v
	case float64:
		return json.Number(floatRepr(v)) // an infinite one is an error
	case markup:
		return string(v)
	case *list:
		items := make([]any, len(v.items))
		for i, item := range v.items {
			items[i] = plain(item)
		}
		return items
	case *Dict:
		members := map[string]any{}
		for i, k := range v.keys {
			members[textArg(k)] = plain(v.values[i])
		}
		return members
	}
	failf("JSON cannot have %s", kind(v))
	return nil
}

// otherCase returns s in lower or in upper case. It refuses letters that become several letters, or whose
// other case depends on their place in a word.
func otherCase(s string, upper bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case !upper && r != 'İ' && r != 'Σ':
			return unicode.ToLower(r)
		case upper && !strings.ContainsRune("ßŉǰΐΰև", r) && (r < 0x1e96 || r > 0x1e9a) && (r < 0x1f50 || r > 0x1fff) && (r < 0xfb00 || r > 0xfb17):
			return unicode.ToUpper(r)
		}
		failf("the letter %q cannot change its case here", r)
		return r
	}, s)
}
