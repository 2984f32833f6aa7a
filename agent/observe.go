package agent

import (
	"bytes"
	"cmp"
	"fmt"
	"unicode/utf8"

	"batch.example/batch/agent/template"
	"batch.example/batch/fault"
	"batch.example/batch/internal/python"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// notRun marks the Output of an action that was never started or has no known result.
const notRun = -1

// cutOff is shown to the model in place of an unknown result of an action.
const cutOff = "The action was begun and then cut off. What it did is not known."

func notExecuted() vocab.Output { return vocab.Output{ExitCode: notRun, Total: notRun} }

// timeoutException is the name of Python's exception for a command that took too long.
const timeoutException = "TimeoutExpired"

// exception describes the failure of a command for the model.
func exception(out vocab.Output) string {
	switch _, submits := submission(out); {
	case out.TimedOut:
		return fmt.Sprintf("The command timed out after %g seconds and was killed with all it had started.", out.Timeout.Seconds())
	case out.Total == notRun:
		return cmp.Or(out.Note, "action was not executed")
	case out.Note != "":
		return out.Note
	case submits && capped(out):
		return tooLarge(out)
	default:
		return ""
	}
}

// observe returns the message that shows the model what an action did, after those of the reply's earlier ones.
func (r *run) observe(a action, out vocab.Output, earlier ...llm.Message) (llm.Message, error) {
	info := exception(out)
	if out.TimedOut {
		out.ExitCode = -1
	}
	extra := map[string]any{"raw_output": "", "returncode": out.ExitCode, "exception_info": info}
	if a.number > 0 && out.Total != notRun {
		extra["raw_output"] = OutputRef{r.end.Calls, a.number}
	}
	var images []llm.Part
	if data := out.Picture(); data != nil && a.tool != nil && a.tool.Name == editorTool {
		var about string
		about, images = r.viewed(data, earlier)
		out.Bytes, out.Total, extra["raw_output"] = []byte(about), int64(len(about)), about
	}
	content, err := r.show(out, info)
	if err != nil {
		return llm.Message{}, err
	}
	if out.OOM {
		extra["oom"] = true
	}
	if out.TimedOut {
		extra["exception_type"], extra["exception"] = timeoutException, info
	}
	m := llm.Message{Role: llm.RoleUser, Parts: append(llm.Say(content), images...), Extra: extra}
	if r.form.kind != Text {
		m.Role, m.Parts = llm.RoleTool, []llm.Part{llm.ToolResult{CallID: a.id, Parts: m.Parts}}
	}
	return m, nil
}

// show renders an output for the model.
func (r *run) show(out vocab.Output, info string) (string, error) {
	if out.Shown != "" {
		return out.Shown, nil
	}
	shown := python.Text(out.Bytes)
	members := []any{"output", shown, "returncode", out.ExitCode, "exception_info", info}
	if out.TimedOut { // mini-swe-agent's outputs have it only where there was an exception
		members = append(members, "extra", template.NewDict("exception_type", timeoutException, "exception", info))
	}
	own := map[string]any{"output": template.NewDict(members...)}
	if capped(out) {
		own[template.CutVar] = template.Cut{Text: shown, Length: utf8.RuneCount(out.Bytes) + int(out.Total-int64(len(out.Bytes)))}
	}
	text, err := r.loop.observation.Render(r.vars(own)...)
	if template.LacksItem(err) { // other outputs may have it, and mini-swe-agent ends only this instance too
		err = fault.New(fault.Instance, "", err)
	}
	return text, err
}

// oldMarker is the marker of mini-swe-agent before version 1.
const oldMarker = "MINI_SWE_AGENT_FINAL_OUTPUT"

// KeepsWhole reports whether no byte of an output that begins with these bytes may be dropped, since it may
// be a submission or a picture.
func KeepsWhole(begin []byte) bool {
	return Submitting(begin) || bytes.HasPrefix(begin, []byte(vocab.PictureMark))
}

// Submitting reports whether an output that begins with these bytes is a submission, if
// its command succeeds. No byte of such an output may be dropped.
func Submitting(begin []byte) bool {
	line, _ := python.CutLine(bytes.TrimLeftFunc(begin, python.IsSpace))
	switch string(bytes.TrimFunc(line, python.IsSpace)) {
	case vocab.Marker, oldMarker:
		return true
	default:
		return false
	}
}

// submission returns what out submits: everything after the marker's line,
// byte for byte, not nil when ok. White space and line ends are as in Python.
func submission(out vocab.Output) (patch []byte, ok bool) {
	if out.ExitCode != 0 || out.TimedOut {
		return nil, false
	}
	if !Submitting(out.Bytes) {
		return nil, false
	}
	_, rest := python.CutLine(bytes.TrimLeftFunc(out.Bytes, python.IsSpace))
	return append([]byte{}, rest...), true
}

// capped reports whether bytes of out were dropped. A submission in such an
// output would be a broken patch, so it is refused and the model is informed.
func capped(out vocab.Output) bool { return out.Total > int64(len(out.Bytes)) }

func tooLarge(out vocab.Output) string {
	return fmt.Sprintf("The submission was not accepted: it has %d bytes, and the limit is about %d. "+
		"Leave generated and binary files out of the patch and submit again.", out.Total, len(out.Bytes))
}
