// Package template renders Jinja templates as mini-swe-agent does, with Jinja2's
// Template(text, undefined=StrictUndefined), and reports mistakes with their place in the
// template. Values behave as in Python: lengths and slices count code points, dicts have an
// order, floats are printed as Python prints them.
//
// It refuses include, import, extends and from, which need other templates, autoescape except
// with false, and the functions lipsum, self and super. Whole numbers have 64 bits. What a
// template builds and how long it loops is bounded.
package template

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	name, original string
	source         string // with \n for all line ends, without a final one
	place          func(offset int) string
	body           []statement
}

// Parse parses a template. Errors are Usage faults that begin with its name and
// the place of the mistake: what place returns for an offset in source, or, if place is
// nil, the line and the column.
func Parse(name, source string, place func(offset int) string) (t *Template, err error) {
	t = &Template{name: name, original: source, place: place}
	t.source = strings.TrimSuffix(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source), "\n")
	defer func() {
		if p := recover(); p != nil {
			m, ok := p.(*mistake)
			if !ok {
				panic(p)
			}
			t, err = nil, t.fault(m)
		}
	}()
	p := &parser{source: t.source, tokens: lex(t.source), names: map[string]bool{}, blocks: map[string]*blockTag{}}
	t.body, _ = p.body()
	return t, nil
}

// Vars are the variables of a template in several maps; later ones win.
type Vars []map[string]any

func (v Vars) get(name string) (value any, ok bool) {
	for _, vars := range slices.Backward(v) {
		if value, ok = vars[name]; ok {
			break
		}
	}
	return value, ok
}

// all returns the variables in one map.
func (v Vars) all() map[string]any {
	all := map[string]any{}
	for _, vars := range v {
		maps.Copy(all, vars)
	}
	return all
}

// Render renders the template with vars, which are not changed.
func (t *Template) Render(vars ...map[string]any) (text string, err error) {
	var out strings.Builder
	out.Grow(len(t.source))
	given := &scope{}
	r := &renderer{source: t.source, vars: vars, scope: &scope{parent: given}, out: &out}
	defer func() {
		if p := recover(); p != nil {
			text, err = "", t.fault(r.failed(p))
		}
	}()
	r.run(t.body)
	return strings.Clone(out.String()), nil // without the builder's spare room: a conversation keeps it
}

// Check returns the error that Render would.
func (t *Template) Check(vars ...map[string]any) error {
	_, err := t.Render(vars...)
	return err
}

// Cut is a text with a part dropped. If the variable [CutVar] holds the Cut, the filter
// length returns the length of the whole text.
type Cut struct {
	Text   string
	Length int // of the whole
}

// CutVar is the variable that holds a [Cut]. No template can name it.
const CutVar = "\x00cut"

// mistake is an error in a template.
type mistake struct {
	offset int // -1: at the current operation
	text   string
	hint   string
	item   bool // a list has fewer items than the template reads

	template string // the template's name
}

// Error implements error.
func (m *mistake) Error() string { return m.text }

// LacksItem reports whether a template failed because a list, such as the lines of an output,
// has fewer items than it reads: it can render with other values.
func LacksItem(err error) bool {
	m, ok := errors.AsType[*mistake](err)
	return ok && m.item
}

// NameOf returns the name of the template that failed with err; "" for another error.
func NameOf(err error) string {
	m, ok := errors.AsType[*mistake](err)
	if !ok {
		return ""
	}
	return m.template
}

func (t *Template) fault(m *mistake) error {
	m.template = t.name
	offset := t.inOriginal(m.offset)
	where := ""
	if t.place != nil {
		where = t.name + ", " + t.place(offset)
	} else {
		before := t.original[:offset]
		where = fmt.Sprintf("%s:%d:%d", t.name, 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]))
	}
	err := fault.Newf(fault.Usage, "%s: %w", where, m)
	if m.hint != "" {
		return err.WithHint("%s", m.hint)
	}
	return err
}

// hintWidth keeps a hint, which is shown indented, within 80 columns.
const hintWidth = 76

// available returns a hint with the variable that was probably meant, or with all variables
// that a template may use.
func available(name string, vars map[string]any) string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(vars)), func(name string) bool { return name == "none" || name == CutVar })
	if len(names) == 0 {
		return "no variables are available here"
	}
	if best := near.Name(name, names); best != "" {
		return near.Hint(best, "")
	}
	return printable.Wrapped("available variables: ", "  ", names, hintWidth)
}

// inOriginal returns the offset before line ends became one character.
func (t *Template) inOriginal(offset int) int {
	at := 0
	for range max(0, offset) {
		if strings.HasPrefix(t.original[min(at, len(t.original)):], "\r\n") {
			at++
		}
		at++
	}
	return min(at, len(t.original))
}
