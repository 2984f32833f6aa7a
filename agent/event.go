package agent

import (
	"context"
	"time"

	"batch.example/batch/llm"
)

// Recorder is told of everything a run does, in order, by one goroutine.
// When Record returns nil, the event is as durable as the recorder promises;
// an error ends the run before the next paid or irreversible act.
type Recorder interface {
	Record(ctx context.Context, e Event) error
}

// EventType says what happened.
type EventType string

// The events of a run, in the order in which a step raises them.
const (
	EventMessages  EventType = "messages"  // Messages were appended to the conversation
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
	Messages  []llm.Message // owned by the run: not to be changed
	Digest    string
	Response  *llm.Response
	Latency   time.Duration // of a reply, waits included
	Command   string
	Output    *Output
	Interrupt string
	Cost      float64 // US dollars spent by this run so far
}
