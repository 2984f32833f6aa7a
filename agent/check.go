package agent

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"batch.example/batch/agent/template"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// CheckTask reports whether the system and the instance template render for t,
// using only its Task, Vars and Env: nothing is asked, executed or recorded. An
// error is a Usage fault that names the template.
func (l *Loop) CheckTask(t Turn) error {
	vars := l.checking(t).vars(nil)
	if err := l.system.Check(vars...); err != nil {
		return err
	}
	return l.instance.Check(vars...)
}

// Check is CheckTask for all templates. It also renders the templates that a run of t may
// need later, with sample outputs and replies of each kind, at the first and the last step.
// A template can still fail with values that no sample has.
func (l *Loop) Check(t Turn) error {
	if err := l.CheckTask(t); err != nil {
		return err
	}
	for _, at := range []func(*run){(*run).atFirstStep, (*run).atLastStep} {
		r := l.checking(t)
		at(r)
		if err := r.checkObservations(); err != nil {
			return err
		}
		if err := r.checkFormatErrors(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loop) checking(t Turn) *run {
	return newRun(l, Turn{Task: t.Task, Vars: t.Vars, Env: t.Env})
}

func (r *run) atFirstStep() { r.end.Calls = 1 }

// atLastStep sets the state of the last step, where a template may mention a limit that
// is near.
func (r *run) atLastStep() {
	c := &r.loop.config
	r.end.Calls = cmp.Or(c.Limits.Steps, 1000)
	r.end.Cost = cmp.Or(c.Limits.Cost, 100)
	r.started = c.Now().Add(-cmp.Or(c.Limits.Time, 24*time.Hour))
}

// sampleOutputs returns an output of each kind that a run can show.
func sampleOutputs() []vocab.Output {
	whole := func(text string, code int) vocab.Output {
		return vocab.Output{Bytes: []byte(text), Total: int64(len(text)), ExitCode: code}
	}
	return []vocab.Output{
		whole("text\n", 0),
		whole("text\n", 1),
		whole("", 0),
		whole("", 127),
		whole(strings.Repeat("0123456789\n", 1000), 0), // mini-swe-agent's templates cut at 10000 characters
		whole("caf\xe9\n", 0),
		whole("\x00\x1b[31m\r\n", 139),
		{Bytes: []byte("cut"), Total: 1 << 30},
		{Bytes: []byte("part"), Total: 4, TimedOut: true, Timeout: time.Minute},
		{TimedOut: true, Timeout: time.Minute},
		{ExitCode: 137, Note: "All processes of the container were killed."},
		{Bytes: []byte(vocab.Marker + "\ncut"), Total: 1 << 30}, // a submission that is refused
		notExecuted(),
	}
}

func (r *run) checkObservations() error {
	var lacking error
	rendered := false
	for _, out := range sampleOutputs() {
		_, err := r.observe(action{id: "call"}, out)
		switch {
		case err == nil:
			rendered = true
		case template.LacksItem(err):
			lacking = err
		default:
			return err
		}
	}
	if rendered || lacking == nil {
		return nil
	}
	return fault.New(fault.Usage, "", lacking)
}

func (r *run) checkFormatErrors() error {
	for _, bad := range r.form.sampleErrors() {
		for _, reason := range []string{"stop", "length", "tool_calls", "content_filter", ""} {
			err := r.refuse(&llm.Response{FinishReason: reason, Message: bad.reply}, bad.err)
			if _, rendered := errors.AsType[*Interrupt](err); !rendered {
				return err
			}
		}
	}
	return nil
}

// sampleError is a reply that does not have the required form, and why.
type sampleError struct {
	reply llm.Message
	err   error
}

// sampleErrors returns a reply of each kind that the form refuses.
func (f *form) sampleErrors() []sampleError {
	if f.kind == Text {
		return []sampleError{{err: notOne(nil)}, {err: notOne([]string{"one", "two"})}}
	}
	call := llm.ToolCall{ID: "call", Name: "unknown", Arguments: "{"}
	_, bad := f.parseCall(call)
	return []sampleError{{err: noCalls()}, {llm.Message{Parts: []llm.Part{call}}, bad}}
}
