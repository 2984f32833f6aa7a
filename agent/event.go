package agent

import (
	"context"
	"encoding/json"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Recorder receives everything that a run does, in order, one event after the other.
// When Record returns nil, the event is as durable as the recorder promises;
// an error ends the run before the next paid or irreversible act. Errors for EventRepeat
// and EventEnd are ignored.
//
// The recorder keeps large data. A conversation holds what is sent to the model and
// refers to the rest: in a message's extra, raw_output is an [OutputRef] and response a
// [ReplyRef].
type Recorder interface {
	Record(ctx context.Context, e Event) error
}

// Listener observes a run. It receives the same events as the [Recorder], after it and in
// the same order. It receives no event that the Recorder failed to record, except the end. It is
// called on the run's goroutine, which it delays for as long as it takes, and cannot fail.
//
// An event and everything that it refers to belongs to the run, which may change it later:
// a Listener must not change any of it, and must copy what it keeps. Texts are as they
// were sent and received, with the secrets in them.
type Listener func(Event)

// OutputRef refers to the output of an action: the number of the model call that
// asked for it, and the number of the action in the reply, both from 1.
type OutputRef struct {
	Step   int `json:"step"`
	Action int `json:"action"`
}

// ReplyRef refers to the provider's answer to a model call, counted from 1.
type ReplyRef struct {
	Step int `json:"step"`
}

// EventType is the type of an [Event].
type EventType string

// The events of a run, in the order in which a step raises them. A call that fails raises
// no reply: a refusal, a failure, an interrupt or the end follows. When a run completes an
// [Unfinished] step, the parts of it that were known before the run raise no events again. A
// run that panics raises no end.
const (
	EventMessages  EventType = "messages"  // Messages were appended to the conversation
	EventRewrite   EventType = "rewrite"   // a part of what is sent was replaced: Rewritten
	EventRequest   EventType = "request"   // a call is about to be made; Digest and Tokens are the request's
	EventRepeat    EventType = "repeat"    // it failed and will be made again: Repeat
	EventTry       EventType = "try"       // it is about to be made again
	EventReply     EventType = "reply"     // the call was answered and must be paid for: Response
	EventRefused   EventType = "refused"   // the provider found the conversation too long, or may have: Err. A shorter one may be sent
	EventFailed    EventType = "failed"    // the call failed, and the model will be shown that and called again: Err
	EventAction    EventType = "action"    // Command is about to run, or has run if it changes nothing: Tool, CallID
	EventOutput    EventType = "output"    // it ended: Output
	EventInterrupt EventType = "interrupt" // Interrupt names what broke the flow; its messages follow
	EventEnd       EventType = "end"       // the run ended: Ending, Err

	// A call that is not a step: with a shorter conversation after a refusal that is not clear, or one of a
	// program's beside its conversation. Step is the number of the next request.
	EventProbe  EventType = "probe"  // as EventRequest
	EventProbed EventType = "probed" // as EventReply; Digest is the request's

	// EventWarning comes from the run's caller, for its listeners alone.
	EventWarning EventType = "warning" // a person should know: Warning
)

// Event is one thing a run did. Only the fields its Type names are set.
type Event struct {
	Type      EventType
	Time      time.Time
	Turn      int           // the Number of the [Turn]
	Step      int           // number of model calls so far, the current one included
	Action    int           // of an action and its output: its number in the reply, from 1
	Messages  []llm.Message // owned by the run: not to be changed
	Rewritten *Rewritten
	Digest    string
	Beside    bool // of a probe: a program made it
	Repeat    *llm.Repeat
	Tokens    int64 // of a request: its estimated length
	Window    int64 // the model's context, in tokens; 0 if it is unknown
	Response  *llm.Response
	Answer    json.RawMessage // of a reply: the provider's answer as it came, or the part of it that is known
	Latency   time.Duration   // of a reply, waits included
	Tool      string          // of an action: the tool's name
	CallID    string          // of an action: the tool call's; empty for actions in text
	Command   string
	Arguments map[string]any // of a tool call without a command
	Output    *vocab.Output
	Shown     string // of an output: as the model is shown it; empty for a submission and an image, whose bytes are needed
	Interrupt vocab.Status
	Warning   string
	Ending    *Ending
	Err       error   // of the end: the error of [Loop.Run]; of a refused or failed call: its error
	Cost      float64 // US dollars spent by this run so far
}

// Phase returns what the run does from e on, in the words of [vocab.Worker]: the model is asked, or
// commands run. It is empty if that does not change.
func (e Event) Phase() string {
	switch e.Type {
	case EventRequest, EventProbe:
		return "model"
	case EventAction:
		return "commands"
	default:
		return ""
	}
}

// Said returns what the model says in a reply; empty for other events, and for a probe, whose text
// is not part of the conversation.
func (e Event) Said() string {
	if e.Type != EventReply {
		return ""
	}
	return e.Response.Message.Text()
}

// Note returns what e tells a person about the run's flow: an interrupt's name, why a call will be
// made again, or a warning. It is empty for other events.
func (e Event) Note() string {
	switch e.Type {
	case EventInterrupt:
		return string(e.Interrupt)
	case EventRepeat:
		return "the model call failed and will be made again: " + e.Repeat.Reason
	default:
		return e.Warning
	}
}
