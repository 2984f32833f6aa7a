package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/internal/printable"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// TerminalConfig configures a terminal.
type TerminalConfig struct {
	Out    io.Writer // flushed after each question, if it has a Flush
	Forget func()    // drops typed lines that were not read yet; nil: nothing
}

// NewTerminal returns the face of a terminal that sends whole lines. Text from the model and from
// commands cannot control the terminal.
func NewTerminal(c TerminalConfig) Face { return &terminal{c: c} }

type terminal struct {
	c  TerminalConfig
	mu sync.Mutex

	shown string // the action in the last question
}

const (
	outputLines = 100      // of an output that are shown
	outputBytes = 10 << 10 // likewise
)

func (t *terminal) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.c.Out, "%s\n", printable.Text(fmt.Sprintf(format, args...)))
	t.flush()
}

func (t *terminal) flush() {
	if f, ok := t.c.Out.(interface{ Flush() error }); ok {
		_ = f.Flush() // the next write reports an error
	}
}

// Opened implements [Face].
func (t *terminal) Opened(o Opened) {
	t.say("%s in %s, model %s, mode %s; /h for help", o.Instance, o.Image, o.Model, o.Mode)
	if !o.Resumed {
		return
	}
	where := "a new container, in which the recorded commands ran again"
	if o.Adopted {
		where = "the container as it was"
	}
	t.say("continued after %s ($%.4f so far), in %s", printable.Count(o.Turns, "turn", "turns"), o.Spent, where)
	for _, d := range o.Differences {
		t.say("step %d did something else when it ran again (exit code %d): %s\n%s", d.Step, d.ExitCode, printable.Line(d.Command), indented(shorten(d.Output)))
	}
	if o.Cut != nil {
		t.cut(o.Cut, o.Mode)
	}
	if o.Retry {
		t.say("the last turn did not come to its end: Enter continues it, and words begin another one")
	}
}

// cut shows the action that was running when the previous process ended.
func (t *terminal) cut(c *Cut, m Mode) {
	fate := "It does not start again; it continues in the container, or has ended there: its result comes first."
	switch {
	case c.again(m):
		fate = fmt.Sprintf("In mode %s it starts again when you continue, since its container is gone.", m)
	case c.Lost:
		fate = fmt.Sprintf("In mode %s it does not start again; what it did is not known.", m)
	}
	t.say("batch was ended while this ran. %s\n%s", fate, indented(cmp.Or(c.Command, c.Tool)))
}

// Began implements [Face].
func (t *terminal) Began(int) {}

// Event implements [Face].
func (t *terminal) Event(e agent.Event) {
	if note := e.Note(); note != "" {
		t.Note(note)
	}
	switch e.Type {
	case agent.EventReply, agent.EventProbed:
		if text := e.Said(); text != "" {
			t.say("\nagent> %s", strings.TrimSpace(text))
		}
		t.say("  (step %d, $%.4f so far)", e.Step, e.Cost)
	case agent.EventAction:
		if what := cmp.Or(e.Command, written(e.Arguments)); what != t.shown {
			t.say("%s> %s", e.Tool, what)
		}
		t.shown = ""
	case agent.EventOutput:
		t.output(e.Output)
	}
}

func (t *terminal) output(o *vocab.Output) {
	note := ""
	if o.TimedOut {
		note = "  (timed out)\n"
	} else if o.ExitCode != 0 {
		note = fmt.Sprintf("  (exit code %d)\n", o.ExitCode)
	}
	t.say("%s", strings.TrimSuffix(indented(shorten(o.Text()))+note, "\n"))
}

// Ended implements [Face].
func (t *terminal) Ended(res *session.Result) {
	switch res.End {
	case journal.TurnFailed:
		t.say("the turn failed: %s", res.Error)
	case journal.TurnMaxIterations:
		t.say("the turn reached a limit; your words begin another one")
	case journal.TurnInputRequired:
		t.say("the agent asks: %s", res.Question)
	case journal.TurnFinished:
		t.say("the agent has finished its turn")
	}
}

// shorten removes the middle of a long output.
func shorten(text string) string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) > outputLines {
		left := len(lines) - outputLines
		lines = append(append(lines[:outputLines/2:outputLines/2], fmt.Sprintf("... %s not shown ...", printable.Count(left, "line", "lines"))),
			lines[len(lines)-outputLines/2:]...)
	}
	text = strings.Join(lines, "\n")
	if len(text) > outputBytes {
		left := len(text) - outputBytes
		text = strings.ToValidUTF8(text[:outputBytes/2], "") + fmt.Sprintf("\n... %s not shown ...\n", printable.Count(left, "byte", "bytes")) +
			strings.ToValidUTF8(text[len(text)-outputBytes/2:], "")
	}
	return text + "\n"
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// Ask implements [Face].
func (t *terminal) Ask(q Question) {
	prompt := "you> "
	switch q.Asked {
	case AskApprove:
		arguments := written(q.Arguments)
		t.shown = cmp.Or(q.Command, arguments)
		t.say("%s> %s", q.Tool, cmp.Or(arguments, q.Command))
		prompt = "run it? Enter, words to reject, /h> "
	case AskCommand:
		prompt = "$ "
	case AskComment:
		prompt = "comment, or Enter to continue> "
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprint(t.c.Out, prompt)
	t.flush()
}

// written formats the arguments of a call; it is empty without arguments.
func written(arguments map[string]any) string {
	if len(arguments) == 0 {
		return ""
	}
	text, err := json.MarshalIndent(arguments, "  ", "  ")
	if err != nil { // they came from JSON
		return fmt.Sprint(arguments)
	}
	return string(text)
}

// Parse implements [Face]: a backslash at the end continues the line.
func (t *terminal) Parse(text string, q Question) (in Input, more bool, err error) {
	if strings.HasSuffix(text, `\`) {
		return in, true, nil
	}
	if q.Asked != AskCommand { // in a command, the backslashes are bash's
		text = strings.ReplaceAll(text, "\\\n", "\n")
	}
	in, err = lineInput(text, q)
	return in, false, err
}

// Refuse implements [Face].
func (t *terminal) Refuse(err error) { t.say("%v", err) }

// Note implements [Face].
func (t *terminal) Note(text string) { t.say("  (%s)", text) }

// Diff implements [Face].
func (t *terminal) Diff(patch []byte) {
	if len(patch) == 0 {
		t.say("  (no changes)")
		return
	}
	t.say("%s", strings.TrimSuffix(string(patch), "\n"))
}

// History implements [Face].
func (t *terminal) History(list []session.Message) {
	for _, m := range list {
		text := m.Text()
		for _, call := range m.ToolCalls() {
			text += fmt.Sprintf("\n%s %s", call.Name, call.Arguments)
		}
		t.say("turn %d, %s:\n%s", m.Turn, m.Role, strings.TrimSuffix(indented(shorten(strings.TrimSpace(text))), "\n"))
	}
}

const help = `At a question:
  Enter      run the action, continue the interrupted turn
  words      say something; at an action: reject it, and the agent reads why
  words \    the next line belongs to it
  /c /y /u   mode confirm (ask before each action), yolo (do not), human (you
             write the commands)
  /d         the working tree's diff
  /m [N]     the last N messages (10)
  /s         save: the diff is the prediction when you end the conversation
  /k         end the conversation, with its result
  /q         leave: the same command continues it later
  /h         this help
ctrl-c stops the agent and asks for a comment; at a question, twice leaves.`

// Help implements [Face].
func (t *terminal) Help() { t.say("%s", help) }

// Interrupted implements [Face].
func (t *terminal) Interrupted() { t.say("interrupted") }

// Eager implements [Face].
func (t *terminal) Eager() bool { return false }

// Forget implements [Face].
func (t *terminal) Forget() {
	if t.c.Forget != nil {
		t.c.Forget()
	}
}
