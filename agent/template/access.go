package template

import (
	"unicode/utf8"

	"batch.example/batch/internal/python"
)

// member is Python's getattr(v, name).
func member(v any, name string) (any, bool) {
	var methods map[string]*builtin
	switch v := v.(type) {
	case string, safe:
		methods = stringMethods()
	case octets:
		methods = bytesMethods()
	case int, bool:
		if n, _, _, _ := number(v); name == "real" || name == "imag" {
			return n * asInt(name == "real"), true
		}
		methods = intMethods()
	case float64:
		if name == "real" {
			return v, true
		}
		methods = floatMethods()
	case *list:
		methods = listMethods()
	case *tuple:
		for i, n := range v.names {
			if n == name {
				return v.items[i], true
			}
		}
		methods = tupleMethods()
	case *Dict:
		methods = dictMethods()
	case *cycler:
		if name == "current" {
			return v.items[v.at], true
		}
		methods = cyclerMethods()
	case *loop:
		return v.member(name)
	case *namespace:
		return v.members.get(name)
	case *macro:
		return v.member(name)
	case interval:
		n, ok := map[string]any{"start": v.start, "stop": v.stop, "step": v.step}[name]
		return n, ok
	case *undefined:
		v.use()
	}
	if m, ok := methods[name]; ok {
		return &method{of: v, run: m, name: name}, true
	}
	return nil, false
}

func (m *macro) member(name string) (any, bool) {
	switch name {
	case "name":
		return m.name, true
	case "arguments":
		t := &tuple{}
		for _, p := range m.params {
			t.items = append(t.items, p)
		}
		return t, true
	case "caller":
		return m.caller, true
	case "catch_varargs":
		return m.varargs, true
	case "catch_kwargs":
		return m.kwargs, true
	}
	return nil, false
}

// itemOf is Jinja2's v[key]: an item or, if there is not one, an attribute.
func itemOf(v, key any) (any, bool) {
	if w, ok := key.(*window); ok {
		return sliced(v, w)
	}
	if d, ok := v.(*Dict); ok {
		if item, ok := d.get(key); ok {
			return item, true
		}
	}
	if u, ok := key.(*undefined); ok {
		u.use()
	}
	if n, _, isFloat, ok := number(key); ok && !isFloat {
		return nth(v, n)
	}
	if name, ok := stringOf(key); ok {
		return member(v, name)
	}
	return nil, false
}

// nth returns one item of a sequence; a negative n counts from its end.
func nth(v any, n int) (any, bool) {
	size, ok := length(v)
	if n < 0 {
		n += size
	}
	if !ok || n < 0 || n >= size {
		return nil, false
	}
	switch v := v.(type) {
	case string:
		from := byteOffset(v, n)
		_, width := utf8.DecodeRuneInString(v[from:])
		return v[from : from+width], true
	case safe:
		s, _ := nth(string(v), n)
		return safe(asText(s)), true
	case octets:
		return int(v[n]), true
	case *list:
		return v.items[n], true
	case *tuple:
		return v.items[n], true
	case interval:
		return v.start + n*v.step, true
	}
	return nil, false
}

// byteOffset is where the nth character of s begins.
func byteOffset(s string, n int) int {
	if len(s) < n {
		return len(s)
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func sliced(v any, w *window) (any, bool) {
	var s python.Slice
	for i, part := range w.parts {
		if part == nil {
			continue
		}
		n, _, isFloat, ok := number(part)
		if !ok || isFloat {
			failf("the parts of a slice are whole numbers, not %s", kind(part))
		}
		s[i] = &n
	}
	if s[2] != nil && *s[2] == 0 {
		failf("the step of a slice must not be zero")
	}
	switch v := v.(type) {
	case string:
		return slicedText(v, s), true
	case safe:
		return safe(slicedText(string(v), s)), true
	case octets:
		var out []byte
		for _, i := range s.Indices(len(v)) {
			out = append(out, v[i])
		}
		return octets(out), true
	case *list:
		return &list{items: picked(v.items, s)}, true
	case *tuple:
		return &tuple{items: picked(v.items, s)}, true
	case interval:
		start, stop, step := s.Bounds(v.length())
		return interval{v.start + start*v.step, v.start + stop*v.step, v.step * step}, true
	}
	failf("%s has no slices", kind(v))
	return nil, false
}

func picked(items []any, s python.Slice) []any {
	out := []any{}
	for _, i := range s.Indices(len(items)) {
		out = append(out, items[i])
	}
	return out
}

func slicedText(text string, s python.Slice) string {
	size := utf8.RuneCountInString(text)
	start, stop, step := s.Bounds(size)
	if step == 1 {
		if stop <= start {
			return ""
		}
		if size == len(text) {
			return text[start:stop]
		}
		from := byteOffset(text, start)
		return text[from : from+byteOffset(text[from:], stop-start)]
	}
	runes := []rune(text)
	out := []rune{}
	for _, i := range s.Indices(size) {
		out = append(out, runes[i])
	}
	return string(out)
}
