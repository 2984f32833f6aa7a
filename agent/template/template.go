// Package template renders prompts as mini-swe-agent does, with Jinja2's
// Template(text, undefined=StrictUndefined), and reports mistakes with their place in the
// template.
//
// Its language is the part of Jinja2's that prompts use. A template gives the same text as
// in Jinja2 3.1.6, or it is an error. Errors in the template's text are found when the
// configuration is loaded, and errors that depend on values when the template is rendered.
//
//   - Tags: if with elif and else; for with if and else; set with a value or a body; macro,
//     outside of other tags and above its calls; raw; comments, and - and + at tags.
//   - Expressions: + - * / // % ~, one of == != < <= > >= in, not, and, or, is, a if b else c,
//     lists, tuples in parentheses, dicts whose keys are texts or numbers, members, items,
//     slices, filters, tests and calls of macros, of methods and of range.
//   - Filters: default (or d), first, float, indent, int, join, last, length (or count), list,
//     lower, replace, round, string, tojson, trim, truncate, upper.
//   - Tests: boolean, defined, even, false, float, integer, mapping, none, number, odd, string,
//     true, undefined.
//   - Methods of texts: endswith, join, lower, lstrip, replace, rstrip, split, splitlines,
//     startswith, strip, upper; of dicts: get, items, keys, values.
//   - In a loop: loop.index, loop.index0, loop.revindex, loop.revindex0, loop.first, loop.last
//     and loop.length.
//
// Values behave as in Python: lengths and slices count code points, dicts have an order, and
// floats are printed as in Python. The following are errors too: whole numbers of more than 64
// bits, NaN, members of values other than dicts, and letters that become several letters in the
// other case. The result of tojson can be changed only by ~, slices and filters. The size of the
// values that a template builds, and the time of its loops, are bounded.
//
// Its API is not promised to other programs: see package batch.
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
	source         string // with all line ends as \n, without a final one
	place          func(offset int) string
	body           []statement
	frame          *frame
}

// Parse parses a template. Errors are Usage faults that begin with its name and the place of the mistake:
// place returns it for an offset in source; if place is nil, it is the line and the column.
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
	t.frame = &frame{}
	p := &parser{source: t.source, tokens: lex(t.source), constants: &renderer{}, frame: t.frame, events: &t.frame.events, macros: map[string]*macro{"range": nil}}
	t.body, _ = p.body()
	t.frame.resolve()
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

// Render renders the template with vars, and leaves them unchanged.
func (t *Template) Render(vars ...map[string]any) (text string, err error) {
	r := &renderer{vars: vars, out: &strings.Builder{}}
	r.out.Grow(len(t.source))
	defer func() {
		if p := recover(); p != nil {
			text, err = "", t.fault(r.failed(p))
		}
	}()
	r.within(t.frame, func() {
		r.top = r.scope
		r.run(t.body)
	})
	return strings.Clone(r.out.String()), nil // without the builder's spare room: a conversation keeps it
}

// Check returns the error that Render would return.
func (t *Template) Check(vars ...map[string]any) error {
	_, err := t.Render(vars...)
	return err
}

// Cut is a text without a dropped part. If the variable [CutVar] holds the Cut, the filter length returns the
// length of the whole text.
type Cut struct {
	Text   string
	Length int // length of the whole text
}

// CutVar is the variable that holds a [Cut]. No template can contain this name.
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

// LacksItem reports whether a template failed because a list, such as the lines of an output, has too few
// items: with other values it can be rendered.
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

// hintWidth keeps an indented hint within 80 columns.
const hintWidth = 76

// available returns a hint with the variable that was probably meant, or with all variables of the template.
func available(name string, vars Vars) string {
	all := map[string]any{}
	for _, given := range vars {
		maps.Copy(all, given)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return name == "none" || name == CutVar })
	if len(names) == 0 {
		return "no variables are available here"
	}
	if best := near.Name(name, names); best != "" {
		return near.Hint(best, "")
	}
	return printable.Wrapped("available variables: ", "  ", names, hintWidth)
}

// inOriginal converts an offset to the original source, with its original line ends.
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
