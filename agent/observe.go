package agent

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"batch.example/batch/llm"
)

// notRun marks the Output of an action that was never started.
const notRun = -1

func notExecuted() Output { return Output{ExitCode: notRun, Total: notRun} }

// exception says what went wrong around a command, for the model to read.
func exception(out Output) string {
	switch _, submits := submission(out); {
	case out.TimedOut:
		return fmt.Sprintf("The command timed out after %g seconds and was killed with all it had started.", out.Timeout.Seconds())
	case out.Total == notRun:
		return "action was not executed"
	case submits && capped(out):
		return tooLarge(out)
	default:
		return ""
	}
}

// observe makes the message that shows the model what an action did.
func (r *run) observe(a action, out Output) (llm.Message, error) {
	shown, info := text(out.Bytes), exception(out)
	if out.TimedOut {
		out.ExitCode = -1
	}
	vars := r.vars()
	vars["output"] = map[string]any{"output": shown, "returncode": out.ExitCode, "exception_info": info}
	content, err := r.loop.observation.render(vars)
	if err != nil {
		return llm.Message{}, err
	}
	extra := map[string]any{"raw_output": shown, "returncode": out.ExitCode, "exception_info": info}
	if !utf8.Valid(out.Bytes) {
		extra["raw_output_base64"] = base64.StdEncoding.EncodeToString(out.Bytes)
	}
	if capped(out) {
		extra["output_bytes"] = out.Total
	}
	if out.TimedOut {
		extra["exception_type"], extra["exception"] = "TimeoutExpired", info
	}
	m := llm.Message{Role: llm.RoleUser, Content: content, Extra: extra}
	if r.loop.form.kind != Text {
		m.Role, m.ToolCallID = llm.RoleTool, a.call
	}
	return m, nil
}
