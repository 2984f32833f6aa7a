package template

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// filters are the engine's, with replacements for those that differ from Jinja's.
var filters = exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(builtins.Filters).
	Update(exec.NewFilterSet(map[string]exec.FilterFunction{"tojson": toJSON, "length": length, "count": length}))

// Cut is a text with a part dropped. If the variable [CutVar] holds the Cut, the filter
// length returns the length of the whole text.
type Cut struct {
	Text   string
	Length int // of the whole
}

// CutVar is the variable that holds a [Cut]. No template can name it.
const CutVar = "\x00cut"

// length is Jinja's filter, but returns how long a text was before it was cut: a
// template computes from it how much the model does not see.
func length(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	known, _ := e.Environment.Context.Get(CutVar)
	if cut, ok := known.(Cut); ok && in.IsString() && in.String() == cut.Text {
		return exec.AsValue(cut.Length)
	}
	if builtin, ok := builtins.Filters.Get("length"); ok {
		return builtin(e, in, params)
	}
	return in
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
