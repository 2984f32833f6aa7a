package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf16"

	"github.com/nikolalohinski/gonja/v2/builtins"
	jinja "github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"

	"batch.example/batch/fault"
)

// template is a parsed Jinja template: undefined names are errors, one final
// newline is dropped, lengths and slices count code points. It is safe for
// concurrent use.
type template struct {
	name   string
	parsed *exec.Template
}

// CheckTemplate reports whether source parses, as a Usage fault that calls it name.
func CheckTemplate(name, source string) error {
	_, err := parseTemplate(name, source)
	return err
}

// RenderTemplate renders source once, strictly, with vars. A fault calls the
// template name and is of kind Usage.
func RenderTemplate(name, source string, vars map[string]any) (string, error) {
	t, err := parseTemplate(name, source)
	if err != nil {
		return "", err
	}
	return t.render(maps.Clone(vars))
}

func parseTemplate(name, source string) (t *template, err error) {
	defer recoverTemplate("parsing", name, &err)
	filters := exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(builtins.Filters).
		Update(exec.NewFilterSet(map[string]exec.FilterFunction{"tojson": toJSON, "length": length, "count": length}))
	c := jinja.New()
	c.StrictUndefined = true
	parsed, err := exec.NewTemplate("/t", c, loaders.MustNewMemoryLoader(map[string]string{"/t": source}), &exec.Environment{
		Context:           exec.EmptyContext().Update(builtins.GlobalFunctions),
		Filters:           filters,
		Tests:             builtins.Tests,
		ControlStructures: builtins.ControlStructures,
		Methods:           builtins.Methods,
	})
	if err != nil {
		cause := err.Error()
		if _, behind, quoted := strings.Cut(cause, source+"': "); quoted { // the whole template stands in front
			cause = behind
		}
		return nil, fault.New(fault.Usage, "parsing "+name, errors.New(cause)).
			WithHint("fix the template in the configuration")
	}
	return &template{name: name, parsed: parsed}, nil
}

func (t *template) render(vars map[string]any) (text string, err error) {
	defer recoverTemplate("rendering", t.name, &err)
	if vars == nil {
		vars = map[string]any{}
	}
	if _, ok := vars["none"]; !ok {
		vars["none"] = nil
	}
	text, err = t.parsed.ExecuteToString(exec.NewContext(vars))
	if err != nil {
		cause := strings.TrimPrefix(err.Error(), "unable to execute template: ")
		cause = strings.ReplaceAll(cause, "Unable to evaluate name", "undefined variable")
		return "", fault.New(fault.Usage, "rendering "+t.name, errors.New(cause)).
			WithHint("templates know task, output, error, the configuration's own values and the environment's")
	}
	return text, nil
}

// recoverTemplate turns a panic of the engine, which some ill-typed
// expressions cause, into an error.
func recoverTemplate(doing, name string, err *error) {
	if p := recover(); p != nil {
		*err = fault.New(fault.Usage, doing+" "+name, fmt.Errorf("the template engine gave up: %v", p))
	}
}

// toJSON writes as Jinja's filter does: ASCII only and safe inside HTML.
func toJSON(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if !in.IsString() {
		if builtin, ok := builtins.Filters.Get("tojson"); ok {
			return builtin(e, in, params)
		}
	}
	data, err := json.Marshal(in.String())
	if err != nil {
		return exec.AsValue(err)
	}
	var b strings.Builder
	for _, r := range string(data) {
		switch {
		case r == '\'':
			b.WriteString(`\u0027`)
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return exec.AsSafeValue(b.String())
}
