// Package llm is one call to a model: the seam between the agent and a provider.
//
// A [Model] answers a [Request]. Providers live in folders of their own
// (llm/openai, llm/scripted); retry, rate limits and recording are decorators
// of the same interface. Nothing here knows what an action or a container is.
package llm

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"batch.example/batch/vocab"
)

// Model answers requests. Implementations are safe for concurrent use unless
// they say otherwise, and return a *fault.Error with blame for every failure that
// is not a cancellation. [Lost] says what a failure may have cost.
type Model interface {
	Generate(ctx context.Context, req *Request) (*Response, error)
}

// Request is one call. The model must not keep or change it after returning.
type Request struct {
	Messages []Message // never holds RoleExit
	Tools    []Tool    // offered to the model; empty for text actions

	// Memo goes with a conversation from call to call, one after the other: a
	// model may keep in it what it made of the messages. Nil keeps nothing.
	Memo *Memo
}

// Memo is what a model keeps of a conversation. The zero value is ready; a model
// that finds another's there replaces it.
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
	FinishReason string // "stop", "length", "tool_calls", as the provider says it
	Usage        vocab.Usage
	Cost         float64 // US dollars; 0 when Priced is false
	Priced       bool    // whether Cost is known
	Model        string  // model id as the provider returned it
	Raw          json.RawMessage
	Waited       time.Duration // time inside the call spent waiting for rate limits and retries
	Lost         int           // calls before the one that was answered that may have been charged, see [Lost]
}

// Filtered reports whether a provider's content filter has taken the whole
// answer away, so that nothing of it can be acted upon.
func (r *Response) Filtered() bool {
	reason, _, _ := strings.Cut(strings.ToLower(r.FinishReason), ":") // Gemini writes "content_filter: SAFETY"
	return slices.Contains(filterReasons, reason) && len(r.Message.ToolCalls()) == 0 && strings.TrimSpace(r.Message.Text()) == ""
}

// filterReasons are the finish reasons of an answer that a filter stopped, in
// lower case: OpenAI's, and those of other providers that some servers hand on
// as they are (Anthropic, Gemini, Bedrock, Zhipu).
var filterReasons = []string{
	"content_filter", "content_filtered", "refusal",
	"safety", "prohibited_content", "blocklist", "spii", "recitation",
	"guardrail_intervened", "sensitive",
}
