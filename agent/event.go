package agent

import (
	"context"
	"encoding/json"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Recorder receives everything that a run does, in order, from one goroutine.
// When Record returns nil, the event is as durable as the recorder promises;
// an error ends the run before the next paid or irreversible act.
//
// The recorder keeps large data. A conversation holds what is sent to the model and
// refers to the rest: in a message's extra, raw_output is an [OutputRef] and response a
// [ReplyRef].
type Recorder interface {
	Record(ctx context.Context, e Event) error
}

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

// EventType says what happened.
type EventType string

// The events of a run, in the order in which a step raises them.
const (
	EventMessages  EventType = "messages"  // Messages were appended to the conversation
	EventRewrite   EventType = "rewrite"   // Messages take the place of those From up to To that were sent so far
	EventRequest   EventType = "request"   // a call is about to be made; Digest is the request's
	EventReply     EventType = "reply"     // it was answered and must be paid for: Response, Step
	EventAction    EventType = "action"    // Command is about to run
	EventOutput    EventType = "output"    // it ended: Output
	EventInterrupt EventType = "interrupt" // Interrupt names what broke the flow; its messages follow
)

// Event is one thing a run did. Only the fields its Type names are set.
type Event struct {
	Type      EventType
	Time      time.Time
	Step      int           // number of model calls so far, the current one included
	Action    int           // of an action and its output: its number in the reply, from 1
	Messages  []llm.Message // owned by the run: not to be changed
	From, To  int           // of a rewrite, as in [Rewriting]
	Digest    string
	Response  *llm.Response
	Answer    json.RawMessage // of a reply: the provider's answer as it came, else what is known of it
	Latency   time.Duration   // of a reply, waits included
	Command   string
	Output    *vocab.Output
	Shown     string // of an output: what the model is shown of it; empty where it submits
	Interrupt vocab.Status
	Cost      float64 // US dollars spent by this run so far
}
