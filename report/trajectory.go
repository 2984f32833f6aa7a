package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/vocab"
)

// Reading says how to show a trajectory.
type Reading struct {
	Full  bool // nothing is shortened
	Width int  // of the terminal, in columns; 0: lines are not wrapped
	Color bool
}

// The number of lines shown from the beginning and the end of a shortened text.
const (
	headLines = 12
	tailLines = 8
	longLine  = 2000 // characters
)

// Trajectory writes an attempt for a person to read: how it ended, its cost, and each step with the
// model's words, its commands and their results.
func Trajectory(w io.Writer, v *trajectory.View, o Reading) error {
	return buffered(w, func(b *bufio.Writer) {
		t := trajectoryPage{page{b, o.Width, o.Color}, o.Full}
		t.head(v)
		for _, m := range v.Prompts {
			t.title(cmp.Or(m.Role, "message"), "")
			t.text("  ", plain, m.Text, false)
			t.images("  ", m.Images)
		}
		for _, s := range v.Steps {
			t.step(s)
		}
		t.end(v)
	})
}

// images names images, which a terminal cannot show.
func (t *trajectoryPage) images(indent string, list []trajectory.Image) {
	for _, i := range list {
		text := fmt.Sprintf("[%s, %d bytes]", i.Type, i.Bytes)
		if i.Source != "" {
			text += " " + printable.Line(i.Source)
		}
		fmt.Fprintln(t, t.paint(quiet, indent+text))
	}
}

type trajectoryPage struct {
	page
	full bool
}

func (t *trajectoryPage) title(name, rest string) {
	text := t.paint(strong, "--- "+printable.Line(name))
	if rest != "" {
		text += t.paint(quiet, "  "+rest)
	}
	fmt.Fprintln(t, "\n"+text)
}

// step shows one call and its results.
func (t *trajectoryPage) step(s trajectory.Step) {
	var facts []string
	if s.Seconds >= 0.001 {
		fact := "model " + brief(s.Seconds)
		if s.Waited >= 0.05 {
			fact += " (" + brief(s.Waited) + " of it waiting)"
		}
		facts = append(facts, fact)
	}
	if s.Priced {
		facts = append(facts, Dollars(s.Cost))
	}
	if s.Usage != nil && *s.Usage != (vocab.Usage{}) {
		facts = append(facts, tokens(*s.Usage))
	}
	t.title(fmt.Sprintf("step %d", s.Number), strings.Join(facts, ", "))
	for _, w := range s.Rewrites {
		t.line("  ", notice, rewriteText(w), false)
	}
	if s.Reasoning != "" {
		t.lines("  reasoning: ", quiet, s.Reasoning)
	}
	if s.Thought != "" {
		t.lines("  ", plain, s.Thought)
	}
	for _, a := range s.Actions {
		t.action(a)
	}
	for _, m := range s.Notes {
		fmt.Fprintln(t)
		t.line("  ", notice, m.Role+":", false)
		t.text("  ", notice, m.Text, false)
	}
}

// rewriteText describes a change of the conversation before it was sent to the model.
func rewriteText(w trajectory.Rewrite) string {
	why := "before the call"
	if w.Refused {
		why = "after the provider refused it as too long"
	}
	text := fmt.Sprintf("%s, the conversation was shortened from about %d to %d tokens (%s, %s replaced)",
		why, w.Before, w.After, printable.Line(w.Policy), printable.Count(w.Messages, "message", "messages"))
	if s := w.Summary; s != nil {
		text += fmt.Sprintf("; the summary cost %s, %s", Dollars(s.Cost), tokens(s.Usage))
	}
	return text
}

// action shows a command, its output and how it ended.
func (t *trajectoryPage) action(a trajectory.Action) {
	fmt.Fprintln(t)
	text := "$ " + strings.TrimRight(a.Command, "\n")
	if a.Tool != "" {
		text = a.Tool + "\n" + strings.TrimRight(a.Command, "\n")
	}
	t.text("  ", command, text, true)
	switch a.State {
	case trajectory.Unknown:
		t.line("  ", notice, "not executed", false)
		return
	case trajectory.Running:
		t.line("  ", notice, "under way, or interrupted", false)
		return
	case trajectory.Done:
		if strings.TrimRight(a.Output, "\n") != "" {
			t.text("  | ", plain, a.Output, true)
		}
	}
	t.images("  | ", a.Images)
	if hidden := a.Total - a.Kept; hidden > 0 {
		t.line("  | ", quiet, fmt.Sprintf("... %d bytes of the output were not kept ...", hidden), false)
	}
	t.ended(a)
}

// ended says how a command ended: exit code, duration, errors.
func (t *trajectoryPage) ended(a trajectory.Action) {
	color, facts := quiet, []string{}
	if a.Exit != nil {
		facts = append(facts, fmt.Sprintf("exit %d", *a.Exit))
		if *a.Exit != 0 {
			color = bad
		}
	}
	if a.Seconds > 0 {
		facts = append(facts, brief(a.Seconds))
	}
	if a.State == trajectory.Submitted {
		facts = append(facts, "submitted")
		color = good
	}
	if a.Note != "" {
		facts = append(facts, a.Note)
		color = bad
	}
	if len(facts) > 0 {
		t.line("  ", color, strings.Join(facts, ", "), false)
	}
}

// end shows how the attempt ended, and the patch.
func (t *trajectoryPage) end(v *trajectory.View) {
	switch {
	case v.Running && !v.Asked.IsZero():
		t.title(fmt.Sprintf("step %d", len(v.Steps)+1), "")
		t.line("  ", notice, "waiting for the model since "+v.Asked.UTC().Format("15:04:05 UTC"), false)
	case v.Exit != nil && v.Exit.Reason != "":
		t.title(string(v.Exit.Status), "")
		t.text("  ", bad, v.Exit.Reason, false)
		if v.Exit.Hint != "" {
			t.lines("  ", plain, v.Exit.Hint)
		}
	}
	switch p := v.Patch; {
	case p == nil:
	case p.Salvaged:
		t.patch("salvaged patch", string(p.Text))
	default:
		t.patch("submission", string(p.Text))
	}
}

func (t *trajectoryPage) patch(name, text string) {
	lines := linesOf(text)
	t.title(name, printable.Count(len(lines), "line", "lines"))
	const most = 3 * (headLines + tailLines)
	t.shortened("  ", lines, most-tailLines, most, "`--diff` prints the patch", func(line string) {
		color := plain
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
			color = strong
		case strings.HasPrefix(line, "+"):
			color = good
		case strings.HasPrefix(line, "-"):
			color = bad
		}
		t.line("  ", color, t.short(line), true)
	})
}

// text writes the lines of a text, and hides the middle if there are many.
func (t *trajectoryPage) text(gutter, color, text string, hard bool) {
	t.shortened(gutter, linesOf(text), headLines, headLines+tailLines+1, "`--full` shows all", func(line string) {
		t.line(gutter, color, t.short(line), hard)
	})
}

// shortened shows lines. If there are more than most, it shows only the first ones and the last
// tailLines, with a hint between them.
func (t *trajectoryPage) shortened(gutter string, lines []string, first, most int, hint string, show func(line string)) {
	hidden := len(lines) - first - tailLines
	for i, line := range lines {
		switch {
		case t.full || len(lines) <= most || i < first || i >= first+hidden:
			show(line)
		case i == first:
			t.line(gutter, quiet, fmt.Sprintf("... %s hidden; %s ...", printable.Count(hidden, "line", "lines"), hint), false)
		}
	}
}

// short hides the middle of a very long line.
func (t *trajectoryPage) short(line string) string {
	if n := utf8.RuneCountInString(line); !t.full && n > longLine {
		runes := []rune(line)
		return fmt.Sprintf("%s ... %d characters hidden; `--full` shows all ... %s",
			string(runes[:longLine/4]), n-longLine/2, string(runes[n-longLine/4:]))
	}
	return line
}
