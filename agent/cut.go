package agent

import (
	"unicode/utf8"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"

	"batch.example/batch/internal/python"
	"batch.example/batch/vocab"
)

// cutText is the text of an output of which a part was dropped.
type cutText struct {
	text   string
	length int // of the whole: code points of what is left and bytes of what was dropped
}

// cutVar is the template variable that tells the length filter of a cutText. No
// template can name it.
const cutVar = "\x00cut"

func newCutText(out vocab.Output) cutText {
	return cutText{python.Text(out.Bytes), utf8.RuneCount(out.Bytes) + int(out.Total-int64(len(out.Bytes)))}
}

// length is Jinja's filter, which knows how long an output was before it was cut: a
// template computes from it how much the model does not see.
func length(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	known, _ := e.Environment.Context.Get(cutVar)
	if cut, ok := known.(cutText); ok && in.IsString() && in.String() == cut.text {
		return exec.AsValue(cut.length)
	}
	if builtin, ok := builtins.Filters.Get("length"); ok {
		return builtin(e, in, params)
	}
	return in
}
