package agent

import (
	"fmt"
	"unicode/utf8"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"

	"batch.example/batch/internal/python"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// notRun marks the Output of an action that was never started.
const notRun = -1

func notExecuted() vocab.Output { return vocab.Output{ExitCode: notRun, Total: notRun} }

// exception says what went wrong around a command, for the model to read.
func exception(out vocab.Output) string {
	switch _, submits := submission(out); {
	case out.TimedOut:
		return fmt.Sprintf("The command timed out after %g seconds and was killed with all it had started.", out.Timeout.Seconds())
	case out.Total == notRun:
		return "action was not executed"
	case out.Note != "":
		return out.Note
	case submits && capped(out):
		return tooLarge(out)
	default:
		return ""
	}
}

// observe makes the message that shows the model what an action did.
func (r *run) observe(a action, out vocab.Output) (llm.Message, error) {
	info := exception(out)
	if out.TimedOut {
		out.ExitCode = -1
	}
	content, err := r.show(out, info)
	if err != nil {
		return llm.Message{}, err
	}
	extra := map[string]any{"raw_output": "", "returncode": out.ExitCode, "exception_info": info}
	if a.number > 0 && out.Total != notRun {
		extra["raw_output"] = OutputRef{r.end.Calls, a.number}
	}
	if out.OOM {
		extra["oom"] = true
	}
	if out.TimedOut {
		extra["exception_type"], extra["exception"] = "TimeoutExpired", info
	}
	m := llm.Message{Role: llm.RoleUser, Parts: llm.Say(content), Extra: extra}
	if r.loop.form.kind != Text {
		m.Role, m.Parts = llm.RoleTool, []llm.Part{llm.ToolResult{CallID: a.id, Parts: m.Parts}}
	}
	return m, nil
}

// show renders what the model reads of an output.
func (r *run) show(out vocab.Output, info string) (string, error) {
	if out.Shown != "" {
		return out.Shown, nil
	}
	vars, shown := r.vars(), python.Text(out.Bytes)
	if capped(out) {
		cut := newCutText(out)
		shown, vars[cutVar] = cut.text, cut
	}
	vars["output"] = map[string]any{"output": shown, "returncode": out.ExitCode, "exception_info": info}
	return r.loop.observation.render(vars)
}

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
