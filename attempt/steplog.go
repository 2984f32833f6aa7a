package attempt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"batch.example/batch/agent"
	"batch.example/batch/internal/mask"
	"batch.example/batch/vocab"
)

// stepLog writes the agent's steps to agent.log for people: the beginning of the model's
// text, the commands, and the beginning and end of their outputs. The trajectory has all
// of it. Secrets are hidden before a text is shortened: the part of a secret that a cut
// leaves is not recognized.
type stepLog struct {
	w    io.Writer
	now  func() time.Time
	mask *mask.Masker
}

// How many lines of a text are logged, and how many characters of a line.
const (
	loggedThought = 6
	loggedCommand = 12
	loggedHead    = 6
	loggedTail    = 4
	loggedLine    = 300
)

// block writes a title line with the time, and the text below it, in one write.
func (l stepLog) block(title string, text []string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\n", l.now().UTC().Format("15:04:05"), title)
	for _, line := range text {
		b.WriteString("    " + line + "\n")
	}
	_, _ = l.w.Write(b.Bytes()) // a log that cannot be written does not stop the attempt
}

func (l stepLog) reply(e agent.Event) {
	r := e.Response
	title := fmt.Sprintf("step %d: the model answered in %s", e.Step, round(e.Latency))
	if r.Waited >= time.Second {
		title += fmt.Sprintf(", %s of it waiting", round(r.Waited))
	}
	title += fmt.Sprintf(" ($%.4f, %d tokens in, %d out", r.Cost, r.Usage.Input, r.Usage.Output)
	if full := percentOf(e); full > 0 {
		title += fmt.Sprintf(", context %d%% full", full)
	}
	title += ")"
	thought, _, _ := strings.Cut("\n"+l.mask.Text(r.Message.Text()), "\n```") // the command has its own block
	l.block(title, ends(thought, loggedThought, 0))
}

func (l stepLog) probed(e agent.Event) {
	r := e.Response
	l.block(fmt.Sprintf("before step %d: the model answered a call that is no step in %s ($%.4f, %d tokens in, %d out)",
		e.Step, round(e.Latency), r.Cost, r.Usage.Input, r.Usage.Output), nil)
}

func (l stepLog) command(e agent.Event) {
	if e.Arguments != nil {
		args, err := json.Marshal(e.Arguments)
		if err != nil { // a tool has put something else in
			args = nil
		}
		l.block(fmt.Sprintf("step %d: calling %s", e.Step, e.Tool), ends(l.mask.Text(string(args)), loggedCommand, 0))
		return
	}
	lines := ends(l.mask.Text(e.Command), loggedCommand, 0)
	if len(lines) == 0 {
		lines = []string{""}
	}
	lines[0] = "$ " + lines[0]
	l.block(fmt.Sprintf("step %d: command", e.Step), lines)
}

func (l stepLog) output(e agent.Event) {
	o := e.Output
	how := fmt.Sprintf("exit %d", o.ExitCode)
	switch {
	case o.TimedOut:
		how = "timed out"
	case o.OOM:
		how += " (out of memory)"
	}
	title := fmt.Sprintf("step %d: %s after %s, %d bytes of output", e.Step, how, round(o.Duration), o.Total)
	if o.ExitCode == 0 && strings.HasPrefix(string(bytes.TrimLeft(o.Bytes, " \t\r\n")), vocab.Marker) || o.Picture() != nil {
		l.block(title, nil) // the submission, or bytes of a picture
		return
	}
	lines := ends(string(l.mask.Bytes(o.Bytes)), loggedHead, loggedTail)
	for i := range lines {
		lines[i] = "| " + lines[i]
	}
	l.block(title, lines)
}

// ends returns the first and the last lines of a text, with a note of how many are hidden.
func ends(text string, head, tail int) []string {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if hidden := len(lines) - head - tail; hidden > 1 {
		note := fmt.Sprintf("... %d lines hidden ...", hidden)
		lines = append(append(lines[:head:head], note), lines[len(lines)-tail:]...)
	}
	for i, line := range lines {
		if utf8.RuneCountInString(line) > loggedLine {
			runes := []rune(line)
			lines[i] = fmt.Sprintf("%s ... %d characters hidden", string(runes[:loggedLine]), len(runes)-loggedLine)
		}
	}
	return lines
}

// round rounds a duration for people.
func round(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond)
	case d < time.Minute:
		return d.Round(100 * time.Millisecond)
	default:
		return d.Round(time.Second)
	}
}
