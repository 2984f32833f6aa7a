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

// DefaultRegex finds the action in a reply of the text form.
const DefaultRegex = "```mswea_bash_command\\s*\\n(.*?)\\n```"

// OldRegex finds the action in the older text form, a plain bash fence.
const OldRegex = "```bash\\s*\\n(.*?)\\n```"

// defaultMaxFormatErrors is the number of format errors in a row that end a run.
const defaultMaxFormatErrors = 3

// FormKind says how a reply names the commands to run.
type FormKind int

const (
	// ToolCall offers one tool, bash.
	ToolCall FormKind = iota
	// Tools offers several tools.
	Tools
	// Text finds exactly one command in the reply's text by a regular expression.
	Text
)

// String returns the word that a configuration uses.
func (k FormKind) String() string {
	switch k {
	case Tools:
		return "tools"
	case Text:
		return "text"
	default:
		return "toolcall"
	}
}

// ActionForm is how a reply asks for commands.
type ActionForm struct {
	Kind  FormKind
	Regex string // for Text: at most one group, matched as Python's re.DOTALL; empty is DefaultRegex
	Tools []Tool // for Tools; empty is BashTool and EditorTool
	Ask   bool   // also offers AskTool; not for Text

	Pictures bool // the editor's view shows pictures, without Tools
}

// Config has the settings that all runs of a Loop share. Templates are Jinja; a limit of
// zero means no limit.
type Config struct {
	SystemTemplate      string
	InstanceTemplate    string
	ObservationTemplate string // empty shows exit code and output in full
	FormatErrorTemplate string // empty shows only the error

	// Place returns, for a template with the name that a configuration uses
	// (agent.system_template), a function that describes the place of the byte at an
	// offset, for error messages. Nil, or a nil function, means the line and the column
	// in the template.
	Place func(template string) func(offset int) string

	Limits          vocab.Limits // checked before each call, which none of them interrupts
	MaxFormatErrors int          // in a row; zero is 3, negative means no limit

	// FinishWithoutCalls ends a run with the first reply that says something and calls no
	// tool, with the status Answered. Otherwise, such a reply is a format error. Empty
	// replies and replies that were cut off always are. Not for Text.
	FinishWithoutCalls bool

	// ModelErrors is the number of calls in a row that may fail with a Transient fault, after their
	// retries, and be shown to the model, which is then called again. One more ends the run.
	ModelErrors int

	Actions ActionForm
	Vars    map[string]any   // configuration that templates may show; not changed after NewLoop
	Now     func() time.Time // nil is time.Now
}

// NewLoop parses the templates and the regular expression of c. An error is a
// Usage fault that names the template and the line.
func NewLoop(c Config) (*Loop, error) {
	if c.MaxFormatErrors == 0 {
		c.MaxFormatErrors = defaultMaxFormatErrors
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ObservationTemplate == "" {
		c.ObservationTemplate = plainObservation
	}
	if c.FormatErrorTemplate == "" {
		c.FormatErrorTemplate = "{{ error }}"
	}
	if c.SystemTemplate == "" || c.InstanceTemplate == "" {
		return nil, fault.Newf(fault.Usage, "the agent needs a system_template and an instance_template")
	}
	form, err := newForm(c.Actions)
	if err != nil {
		return nil, err
	}
	if c.FinishWithoutCalls && form.kind == Text {
		return nil, fault.Newf(fault.Usage, "agent.finish_without_calls needs an action form with tools: in the form text, no reply calls one")
	}
	l := &Loop{config: c, form: form}
	for _, t := range []struct {
		name, source string
		to           **template.Template
	}{
		{"agent.system_template", c.SystemTemplate, &l.system},
		{"agent.instance_template", c.InstanceTemplate, &l.instance},
		{"model.observation_template", c.ObservationTemplate, &l.observation},
		{"model.format_error_template", c.FormatErrorTemplate, &l.formatError},
	} {
		var place func(int) string
		if c.Place != nil {
			place = c.Place(t.name)
		}
		if *t.to, err = template.Parse(t.name, t.source, place); err != nil {
			return nil, err
		}
	}
	return l, nil
}

const plainObservation = "{% if output.exception_info %}<exception>{{ output.exception_info }}</exception>\n{% endif %}" +
	"<returncode>{{ output.returncode }}</returncode>\n<output>\n{{ output.output }}</output>"

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
