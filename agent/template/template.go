// Package template renders Jinja templates as mini-swe-agent does, and reports
// mistakes with their place in the template.
package template

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nikolalohinski/gonja/v2/builtins"
	jinja "github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/tokens"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
)

// Template is a parsed template: undefined names are errors, one final newline
// is dropped, lengths and slices count code points. It is safe for concurrent
// use.
type Template struct {
	name, source string
	place        func(offset int) string
	parsed       *exec.Template
	config       *jinja.Config
	loader       loaders.Loader
	tags         *exec.ControlStructureSet
	names        []string // of all variables that it may read
}

// Parse parses a template. Errors are Usage faults that begin with its name and
// the place of the mistake: what place returns for an offset in source, or, if place is
// nil, the line and the column.
func Parse(name, source string, place func(offset int) string) (*Template, error) {
	t := &Template{name: name, source: source, place: place}
	if err := t.parse(); err != nil {
		return nil, t.fault(err)
	}
	return t, nil
}

func (t *Template) parse() (err *mistake) {
	p := newParse(t.source)
	defer func() {
		if recover() != nil { // some broken expressions make the engine panic
			err = p.incomplete()
		}
	}()
	if err := p.checkNames(); err != nil {
		return err
	}
	t.config = jinja.New()
	t.config.StrictUndefined = true
	t.loader = loaders.MustNewMemoryLoader(map[string]string{"/t": t.source})
	t.tags = p.tags()
	parsed, failed := exec.NewTemplate("/t", t.config, t.loader, t.environment(nil))
	if failed != nil {
		return p.explain(failed)
	}
	watch(parsed.Root().Nodes)
	t.parsed, t.names = parsed, append(p.names(), CutVar)
	return nil
}

// Vars are the variables of a template, in several maps of which later ones win.
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
func (t *Template) Render(vars ...map[string]any) (string, error) {
	var b strings.Builder
	b.Grow(len(t.source))
	if err := t.write(&b, vars); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Check returns the error that Render would.
func (t *Template) Check(vars ...map[string]any) error { return t.write(io.Discard, vars) }

func (t *Template) write(w io.Writer, vars Vars) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = t.fault(&mistake{text: panicked(p)})
		}
	}()
	failed := exec.NewRenderer(t.environment(t.context(vars)), w, t.config, t.loader, t.parsed).Execute()
	if failed == nil {
		return nil
	}
	m := mistakeIn(failed)
	if m == nil {
		m = reason(failed)
		m.below = true
	}
	if m.below {
		t.search(m)
	}
	if m.unknown != "" {
		m.hint = available(m.unknown, vars.all())
	}
	return t.fault(m)
}

// environment is what the engine knows beside the template.
func (t *Template) environment(names *exec.Context) *exec.Environment {
	return &exec.Environment{Context: names, Filters: filters, Tests: builtins.Tests, ControlStructures: t.tags, Methods: builtins.Methods}
}

// functions are what a template can name beside its variables.
var functions = func() map[string]any {
	all := map[string]any{"none": nil}
	exec.NewContext(all).Update(builtins.GlobalFunctions)
	return all
}()

// context has the variables that the template may read, and those functions whose names no
// variable has. Variables are many and a template reads few: at each step, and for each row
// before a run.
func (t *Template) context(vars Vars) *exec.Context {
	known := maps.Clone(functions)
	for _, name := range t.names {
		if v, ok := vars.get(name); ok {
			known[name] = v
		}
	}
	known[levelsVar] = &levels{}
	return exec.NewContext(known)
}

// mistake is what is wrong with a template.
type mistake struct {
	offset  int
	text    string
	hint    string
	unknown string // the name of a variable that does not exist
	below   bool   // the mistake is at offset or after it
}

// Error implements error: the engine passes the mistake on as an error.
func (m *mistake) Error() string { return m.text }

func (t *Template) fault(m *mistake) error {
	offset := max(0, min(m.offset, len(t.source)))
	where := ""
	if t.place != nil {
		where = t.name + ", " + t.place(offset)
	} else {
		before := t.source[:offset]
		where = fmt.Sprintf("%s:%d:%d", t.name, 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]))
	}
	err := fault.Newf(fault.Usage, "%s: %s", where, m.text)
	if m.hint != "" {
		return err.WithHint("%s", m.hint)
	}
	return err
}

// hintWidth keeps a hint, which is shown indented, within 80 columns.
const hintWidth = 76

// available returns a hint with the variable that was probably meant, or else with those
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

// search gives a place to a mistake in a tag whose parts cannot be watched: the next use
// of the unknown name.
func (t *Template) search(m *mistake) {
	for _, tok := range newParse(t.source).tokens {
		if m.unknown != "" && tok.Pos >= m.offset && tok.Type == tokens.Name && tok.Val == m.unknown {
			m.offset = tok.Pos
			return
		}
	}
}
