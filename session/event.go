package session

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// Kind is the kind of an [Event].
type Kind string

// The kinds of events.
const (
	KindStatus     Kind = "status"      // the turn began, changed or ended: Status, End, Error, Question, Note
	KindText       Kind = "text"        // the model said something: Text
	KindToolCall   Kind = "tool_call"   // an action is about to run: Tool, CallID, Command or Arguments
	KindToolResult Kind = "tool_result" // it ended: Output, ExitCode, TimedOut
	KindArtifact   Kind = "artifact"    // something was made: Artifact
	KindUsage      Kind = "usage"       // a call was paid: Usage, Cost
)

// Event is something that happened in a turn, for listeners. Only the common fields
// and the fields of its Kind are set. Texts are as they were sent and received, with the
// secrets in them.
type Event struct {
	Kind Kind      `json:"event"`
	Time time.Time `json:"time"`
	Turn int       `json:"turn"`
	Step int       `json:"step,omitempty"` // number of model calls so far

	Status   Status          `json:"status,omitempty"`
	End      journal.TurnEnd `json:"end,omitempty"` // set in the last event of a turn
	Error    string          `json:"error,omitempty"`
	Question string          `json:"question,omitempty"`
	Note     string          `json:"note,omitempty"` // an interrupt's name, or a warning

	Text string `json:"text,omitempty"`

	Action  int    `json:"action,omitempty"` // of a call and its result: its number in the reply, from 1
	Tool    string `json:"tool,omitempty"`
	CallID  string `json:"call_id,omitempty"`
	Command string `json:"command,omitempty"`
	// Arguments belong to a call without a command. They must not be changed.
	Arguments map[string]any `json:"arguments,omitempty"`

	Output   string `json:"output,omitempty"` // at most outputShown bytes, with U+FFFD for bytes that are not UTF-8
	ExitCode *int   `json:"exit_code,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`

	Artifact *Artifact `json:"-"`

	Usage *vocab.Usage `json:"usage,omitempty"`
	Cost  float64      `json:"cost,omitempty"` // US dollars, of the session so far
}

// outputShown is the number of bytes of an output that an event has.
const outputShown = 64 << 10

// seen returns the events that a listener sees for the agent's event; some stay inside.
func seen(e agent.Event) (events []Event) {
	base := Event{Time: e.Time, Step: e.Step, Cost: e.Cost}
	switch e.Type {
	case agent.EventReply, agent.EventProbed:
		if text := e.Response.Message.Text(); text != "" && e.Type == agent.EventReply {
			said := base
			said.Kind, said.Text = KindText, text
			events = append(events, said)
		}
		base.Kind, base.Usage = KindUsage, &e.Response.Usage
		return append(events, base)
	case agent.EventAction:
		base.Kind, base.Action, base.Tool, base.CallID, base.Command, base.Arguments = KindToolCall, e.Action, e.Tool, e.CallID, e.Command, e.Arguments
	case agent.EventOutput:
		base.Kind, base.Action, base.ExitCode, base.TimedOut = KindToolResult, e.Action, new(e.Output.ExitCode), e.Output.TimedOut
		// Copies: the event lives longer than the output, which may be large.
		base.Output = strings.ToValidUTF8(string(e.Output.Bytes[:min(len(e.Output.Bytes), outputShown)]), "\ufffd")
	case agent.EventInterrupt:
		base.Kind, base.Status, base.Note = KindStatus, Busy, string(e.Interrupt)
	case agent.EventRepeat:
		base.Kind, base.Status, base.Note = KindStatus, Busy, "the model call failed and will be made again: "+e.Repeat.Reason
	default:
		return nil
	}
	return []Event{base}
}

// stream is the events of one turn. Listeners read at their own speed, each from the first
// event: a slow one delays neither the agent nor the others. The events stay in memory for
// as long as the turn is referenced.
type stream struct {
	mu     sync.Mutex
	events []Event
	ended  bool
	more   chan struct{} // closed when there is more to read
}

func newStream() *stream { return &stream{more: make(chan struct{})} }

// send adds events. A nil stream has no readers and ignores them.
func (s *stream) send(events ...Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		s.events = append(s.events, e)
		s.ended = s.ended || e.End != ""
	}
	close(s.more)
	s.more = make(chan struct{})
}

// from returns the events from number i on, whether more will follow, and a channel that is
// closed when they have.
func (s *stream) from(i int) (events []Event, ended bool, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[i:len(s.events):len(s.events)], s.ended, s.more
}

// all yields the events from the first to the last. It waits for further ones until ctx ends.
func (s *stream) all(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i := 0; ; {
			events, ended, more := s.from(i)
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
			if i += len(events); ended {
				return
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}
