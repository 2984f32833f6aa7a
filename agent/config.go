package agent

import (
	"time"

	"batch.example/batch/agent/template"
	"batch.example/batch/fault"
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
