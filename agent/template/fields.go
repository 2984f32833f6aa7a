package template

import (
	"strconv"
	"strings"
)

// fields is the state of str.format.
type fields struct {
	list   []any
	named  *Dict
	escape bool
	next   int // -1 when the places have numbers
}

func (f *fields) format(text string, depth int) string {
	if depth > 2 {
		failf("a place within a place within a place")
	}
	var b strings.Builder
	for text != "" {
		i := strings.IndexAny(text, "{}")
		if i < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:i])
		c := text[i]
		text = text[i+1:]
		switch {
		case text != "" && text[0] == c:
			b.WriteByte(c)
			text = text[1:]
		case c == '}':
			failf("the format has a single }")
		default:
			end := closingBrace(text)
			b.WriteString(f.field(text[:end], depth))
			text = text[end+1:]
		}
		bounded(b.Len())
	}
	return b.String()
}

func closingBrace(text string) int {
	open := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	failf("the format has a { without a }")
	return 0
}

func (f *fields) field(text string, depth int) string {
	spec, convert := "", byte(0)
	rest := ""
	end := strings.IndexAny(text, "!:")
	name := text
	if end >= 0 {
		name, rest = text[:end], text[end:]
		if rest[0] == '!' {
			if len(rest) < 2 || len(rest) > 2 && rest[2] != ':' {
				failf("a format needs one letter after !")
			}
			convert, rest = rest[1], rest[2:]
		}
	}
	v := f.value(name)
	spec = f.format(strings.TrimPrefix(rest, ":"), depth+1)
	switch convert {
	case 0:
	case 's':
		v = str(v)
	case 'r':
		v = repr(v)
	case 'a':
		v = ascii(v)
	default:
		failf("!%c is not a conversion: !s, !r or !a", convert)
	}
	if f.escape && !escapes(v) {
		return escapeHTML(formatted(v, spec))
	}
	return formatted(v, spec)
}

func (f *fields) value(name string) any {
	end := strings.IndexAny(name, ".[")
	rest := ""
	if end >= 0 {
		name, rest = name[:end], name[end:]
	}
	v := f.first(name)
	for rest != "" {
		var key string
		ok := false
		was := v
		if rest[0] == '[' {
			key, rest, ok = strings.Cut(rest[1:], "]")
			if !ok {
				failf("the format has a [ without a ]")
			}
			if n, err := strconv.Atoi(key); err == nil {
				v, ok = itemOf(was, n)
			} else if d, isDict := was.(*Dict); isDict {
				v, ok = d.get(key)
			} else {
				ok = false
			}
		} else {
			key = rest[1:]
			rest = ""
			if end := strings.IndexAny(key, ".["); end >= 0 {
				key, rest = key[:end], key[end:]
			}
			v, ok = member(was, key)
		}
		if !ok {
			failf("%s has no %q", kind(was), key)
		}
	}
	return v
}

func (f *fields) first(name string) any {
	n, err := strconv.Atoi(name)
	switch {
	case name == "" && f.next < 0, name != "" && err == nil && f.next > 0:
		failf("the format has places with and without numbers")
	case name == "":
		n = f.next
		f.next++
	case err == nil:
		f.next = -1
	default:
		if f.named != nil {
			if v, ok := f.named.get(name); ok {
				return v
			}
		}
		failf("the format has no value %q", name)
	}
	if n >= len(f.list) {
		failf("the format has more places than values")
	}
	return f.list[n]
}
