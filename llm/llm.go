// Package llm defines a call to a model: the interface between the agent and a provider.
//
// A [Model] answers a [Request]. Each provider has its own package
// (llm/openai, llm/scripted); retries, rate limits and recording are decorators
// of the same interface. llm/stub is a server that speaks the providers' protocols, and
// llm/conformance tests a provider's client against it. The package knows nothing about
// actions or containers.
package llm

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"batch.example/batch/vocab"
)

// Model answers requests. Implementations are safe for concurrent use unless
// they say otherwise, and return a classified *fault.Error for every failure that
// is not a cancellation. [Lost] returns how many calls a failure may have cost.
type Model interface {
	Generate(ctx context.Context, req *Request) (*Response, error)
}

// Request is one call. The model must not keep or change it after returning.
type Request struct {
	Messages []Message // never holds RoleExit
	Tools    []Tool    // offered to the model; empty for text actions

	// Memo belongs to a conversation, whose calls are made one after the other with the same Memo: a model
	// may keep encoded messages in it. Nil keeps nothing.
	Memo *Memo

	// Tokens is the estimated length of the conversation; 0 if unknown.
	Tokens int64

	// Repeating is called before each wait for another try. Nil ignores.
	Repeating func(Repeat)

	// Trying is called before each try but the first, after Repeating and the wait. An error
	// ends the call, and nothing is sent. Nil ignores.
	Trying func() error
}

// Memo holds data that a model keeps for a conversation. The zero value is ready to use; a
// model replaces the data of another model.
type Memo struct{ Kept any }

// Tool is a function offered to the model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON schema of the arguments
}

// Response is the answer to one call.
type Response struct {
	Message      Message
	FinishReason string // "stop", "length", "tool_calls", as the provider reports it
	Usage        vocab.Usage
	Service      string  // service tier that answered ("default", "flex"), in the provider's words; "" if it names none
	Cost         float64 // US dollars; 0 when Priced is false
	Priced       bool    // whether Cost is known
	Model        string  // model id as the provider returned it
	Raw          json.RawMessage
	Waited       time.Duration // time before the answered try: failed tries, and waits
	RateLimited  time.Duration // part of Waited, for rate limits
	Lost         int           // tries before the answered one that may have been charged, see [Lost]
	Rate         *Rate         // the limits that the provider reports; nil if none
}

// End returns how the answer ended.
func (r *Response) End() End { return EndOf(r.FinishReason) }

// Filtered reports whether a content filter removed the whole answer, so that there is no action to run.
func (r *Response) Filtered() bool {
	return r.End() == EndFiltered && len(r.Message.ToolCalls()) == 0 && strings.TrimSpace(r.Message.Text()) == ""
}
