package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// NewLines returns the face of a program, which reads one JSON object per line from out: the events
// of the agent and of this package.
func NewLines(out io.Writer) Face { return &lines{out: out} }

type lines struct {
	mu  sync.Mutex
	out io.Writer
}

// message is a line that is not an event of a turn.
type message struct {
	Event string `json:"event"`

	*Opened

	Asked     Asked          `json:"asked,omitempty"`
	Tool      string         `json:"tool,omitempty"`
	Command   string         `json:"command,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
	Retry     *bool          `json:"may_retry,omitempty"`

	Text     string   `json:"text,omitempty"`
	Diff     *string  `json:"diff,omitempty"`
	Messages []record `json:"messages,omitempty"`
}

// event is a line about something that happened in a turn. Texts are as they were sent and received,
// with the secrets in them.
type event struct {
	Event string    `json:"event"`
	Time  time.Time `json:"time"`
	Turn  int       `json:"turn"`
	Step  int       `json:"step,omitempty"` // number of model calls so far

	// Of status. End is in the last event of a turn.
	Status   session.Status  `json:"status,omitempty"`
	End      journal.TurnEnd `json:"end,omitempty"`
	Error    string          `json:"error,omitempty"`
	Question string          `json:"question,omitempty"`
	Note     string          `json:"note,omitempty"`

	Text string `json:"text,omitempty"`

	// Of tool_call and tool_result. Arguments belong to a call without a command.
	Action    int            `json:"action,omitempty"`
	Tool      string         `json:"tool,omitempty"`
	CallID    string         `json:"call_id,omitempty"`
	Command   string         `json:"command,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
	Output    string         `json:"output,omitempty"`
	ExitCode  *int           `json:"exit_code,omitempty"`
	TimedOut  bool           `json:"timed_out,omitempty"`

	Usage *vocab.Usage `json:"usage,omitempty"`
	Cost  float64      `json:"cost,omitempty"` // US dollars, of the session so far
}

// record is a message of the conversation.
type record struct {
	Turn  int    `json:"turn"`
	Role  string `json:"role"`
	Text  string `json:"text"`
	Calls []call `json:"calls,omitempty"`
}

type call struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

func (l *lines) write(v any) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		text.Reset()
		_ = e.Encode(message{Event: "error", Text: fmt.Sprintf("writing a line: %v", err)})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(text.Bytes()) // the reader may be gone: the conversation is in the journal
	if f, ok := l.out.(interface{ Flush() error }); ok {
		_ = f.Flush()
	}
}

// Opened implements [Face].
func (l *lines) Opened(o Opened) { l.write(message{Event: "opened", Opened: &o}) }

// Began implements [Face].
func (l *lines) Began(turn int) {
	l.write(event{Event: "status", Time: time.Now(), Turn: turn, Status: session.Busy})
}

// Event implements [Face].
func (l *lines) Event(e agent.Event) {
	line := event{Time: e.Time, Turn: e.Turn, Step: e.Step, Cost: e.Cost}
	switch e.Type {
	case agent.EventReply, agent.EventProbed:
		if text := e.Said(); text != "" {
			said := line
			said.Event, said.Text = "text", text
			l.write(said)
		}
		line.Event, line.Usage = "usage", &e.Response.Usage
	case agent.EventAction:
		line.Event, line.Action, line.Tool, line.CallID, line.Command, line.Arguments = "tool_call", e.Action, e.Tool, e.CallID, e.Command, e.Arguments
	case agent.EventOutput:
		line.Event, line.Action, line.Output, line.ExitCode, line.TimedOut = "tool_result", e.Action, e.Output.Text(), &e.Output.ExitCode, e.Output.TimedOut
	default:
		if line.Note = e.Note(); line.Note == "" {
			return
		}
		line.Event, line.Status = "status", session.Busy
	}
	l.write(line)
}

// Ended implements [Face].
func (l *lines) Ended(res *session.Result) {
	l.write(event{
		Event: "status", Time: time.Now(), Turn: res.Turn, Step: res.Ending.Calls, Cost: res.Ending.Cost,
		Status: session.Ready, End: res.End, Error: res.Error, Question: res.Question,
	})
}

// Ask implements [Face].
func (l *lines) Ask(q Question) {
	m := message{Event: "ask", Asked: q.Asked, Tool: q.Tool, Command: q.Command, Arguments: q.Arguments}
	if q.Asked == AskWords {
		m.Retry = &q.Retry
	}
	l.write(m)
}

// Parse implements [Face].
func (l *lines) Parse(line string, _ Question) (in Input, more bool, err error) {
	if strings.TrimSpace(line) == "" {
		return in, false, fmt.Errorf("an empty line: %s", expected)
	}
	in, err = jsonInput([]byte(line))
	return in, false, err
}

// Refuse implements [Face].
func (l *lines) Refuse(err error) { l.write(message{Event: "error", Text: err.Error()}) }

// Note implements [Face].
func (l *lines) Note(text string) { l.write(message{Event: "note", Text: text}) }

// Diff implements [Face].
func (l *lines) Diff(patch []byte) {
	text := string(patch)
	l.write(message{Event: "diff", Diff: &text})
}

// History implements [Face].
func (l *lines) History(list []session.Message) {
	m := message{Event: "history", Messages: []record{}}
	for _, one := range list {
		r := record{Turn: one.Turn, Role: string(one.Role), Text: one.Text()}
		for _, c := range one.ToolCalls() {
			r.Calls = append(r.Calls, call{c.Name, c.Arguments})
		}
		m.Messages = append(m.Messages, r)
	}
	l.write(m)
}

// Help implements [Face].
func (l *lines) Help() { l.write(message{Event: "help", Text: expected}) }

// Interrupted implements [Face].
func (l *lines) Interrupted() { l.write(message{Event: "interrupted"}) }

// Eager implements [Face].
func (l *lines) Eager() bool { return true }

// Forget implements [Face].
func (l *lines) Forget() {}
