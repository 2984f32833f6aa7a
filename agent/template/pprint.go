package template

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/lazy"
)

// prettyWidth is the width of Python's pprint.
const prettyWidth = 80

// pretty is pprint.pformat: a value in lines, with the keys of dicts sorted.
type pretty struct{ b strings.Builder }

// sortedKeysOf returns a value with the keys of all dicts in order.
func sortedKeysOf(v any, depth int) any {
	if depth > maxDepth {
		failf("a value has more than %d levels", maxDepth)
	}
	each := func(items []any) []any {
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = sortedKeysOf(item, depth+1)
		}
		return out
	}
	switch v := v.(type) {
	case *list:
		return &list{items: each(v.items)}
	case *tuple:
		return &tuple{items: each(v.items)}
	case *Dict:
		keys := slices.Clone(v.keys)
		slices.SortStableFunc(keys, func(a, b any) int {
			_, aText := stringOf(a)
			_, bText := stringOf(b)
			_, _, _, aNumber := number(a)
			_, _, _, bNumber := number(b)
			if aText && bText || aNumber && bNumber {
				return order("<", a, b)
			}
			return cmp.Compare(kind(a), kind(b))
		})
		d := &Dict{}
		for _, k := range keys {
			member, _ := v.get(k)
			d.set(k, sortedKeysOf(member, depth+1))
		}
		return d
	}
	return v
}

// value writes v at a column; so many characters follow it in its line.
func (p *pretty) value(v any, column, after, level int) {
	text := repr(v)
	if utf8.RuneCountInString(text) <= prettyWidth-column-after {
		p.b.WriteString(text)
		return
	}
	switch v := v.(type) {
	case *Dict:
		p.b.WriteString("{")
		for i, k := range v.keys {
			p.separate(i, column+1)
			key := repr(k) + ": "
			p.b.WriteString(key)
			p.value(v.values[i], column+1+utf8.RuneCountInString(key), p.after(i, len(v.keys), after+1), level+1)
		}
		p.b.WriteString("}")
	case *list:
		p.items("[", v.items, "]", column, after, level)
	case *tuple:
		end := ")"
		if len(v.items) == 1 {
			end = ",)"
		}
		p.items("(", v.items, end, column, after, level)
	case string:
		p.text(v, column, after, level)
	default:
		p.b.WriteString(text)
	}
}

func (p *pretty) separate(i, column int) {
	if i > 0 {
		p.b.WriteString(",\n" + strings.Repeat(" ", column))
	}
}

func (p *pretty) after(i, n, after int) int {
	if i < n-1 {
		return 1
	}
	return after
}

func (p *pretty) items(begin string, items []any, end string, column, after, level int) {
	p.b.WriteString(begin)
	for i, v := range items {
		p.separate(i, column+1)
		p.value(v, column+1, p.after(i, len(items), after+len(end)), level+1)
	}
	p.b.WriteString(end)
}

var wordAndSpace = lazy.Regexp(`\S+\s*|\s+`)

// text writes a long text in parts, each on its line.
func (p *pretty) text(s string, column, after, level int) {
	if level == 0 {
		column, after = column+1, after+1
	}
	var parts []string
	lines := splitLines(s, true)
	for i, line := range lines {
		last := 0
		if i == len(lines)-1 {
			last = after
		}
		if text := repr(line); utf8.RuneCountInString(text) <= prettyWidth-column-last {
			parts = append(parts, text)
			continue
		}
		current := ""
		words := wordAndSpace().FindAllString(line, -1)
		for j, word := range words {
			room := prettyWidth - column
			if j == len(words)-1 {
				room -= last
			}
			if utf8.RuneCountInString(repr(current+word)) <= room {
				current += word
				continue
			}
			if current != "" {
				parts = append(parts, repr(current))
			}
			current = word
		}
		if current != "" {
			parts = append(parts, repr(current))
		}
	}
	text := strings.Join(parts, "\n"+strings.Repeat(" ", column))
	if level == 0 && len(parts) > 1 {
		text = "(" + text + ")"
	}
	p.b.WriteString(text)
}
