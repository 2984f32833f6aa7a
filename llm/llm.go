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

	// Relay is what is sent in place of Messages and Tools; nil: nothing is.
	Relay *Relay

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

// End says how an answer ended.
type End int

const (
	// EndUnknown means a finish reason that no provider is known to use.
	EndUnknown End = iota
	// EndWhole means that the model itself ended its answer. Only then may its calls run.
	EndWhole
	// EndCut means that a limit of tokens or of the context truncated the answer. The end of the last call is
	// then missing, even if the rest is valid JSON.
	EndCut
	// EndFiltered means that a content filter ended the answer.
	EndFiltered
	// EndMalformed means that the server could not parse a call of the model, and does not pass it on.
	EndMalformed
	// EndFailed means that the provider failed.
	EndFailed
)

// EndOf interprets a finish reason of any protocol, because gateways pass on other providers' reasons. Only a
// reason that a provider documents as the model's own end is [EndWhole]. So is an empty one, because some
// servers send none with a complete answer.
//
// Gemini sends two reasons, as in "content_filter: SAFETY" and "function_call_filter:
// MALFORMED_FUNCTION_CALL". The worse one counts.
func EndOf(reason string) End {
	reason, more, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(reason), "-", "_"), ":")
	end := ends[strings.TrimSpace(reason)]
	if worse := ends[strings.TrimSpace(more)]; worse > EndWhole {
		end = max(end, worse)
	}
	return end
}

// ends are finish reasons in lower case, with _ for -.
var ends = map[string]End{
	// Without a word; OpenAI and those who follow it.
	"": EndWhole, "null": EndWhole, "none": EndWhole, "stop": EndWhole, "tool_calls": EndWhole, "tool_call": EndWhole, "function_call": EndWhole,
	"end_turn": EndWhole, "tool_use": EndWhole, "stop_sequence": EndWhole, "pause_turn": EndWhole, "compaction": EndWhole, // Anthropic, Bedrock
	"completed": EndWhole, "complete": EndWhole, // the Responses API, Cohere
	"eos": EndWhole, "eos_token": EndWhole, "normal": EndWhole, "endoftext": EndWhole, // Together, TGI and watsonx, Baidu, AI21

	"length": EndCut, "max_tokens": EndCut, "max_output_tokens": EndCut, "max_output": EndCut, "max_length": EndCut, "token_limit": EndCut, "time_limit": EndCut, // the last two are watsonx's
	"error_limit":  EndCut,                                          // Cohere, of the context
	"model_length": EndCut, "model_context_window_exceeded": EndCut, // Mistral, Anthropic and Zhipu
	"repetition_truncation": EndCut, "repetition": EndCut, // Xiaomi and vLLM, of a model that repeats itself

	"content_filter": EndFiltered, "sensitive": EndFiltered, // Zhipu
	"refusal": EndFiltered, "guardrail_intervened": EndFiltered, "content_filtered": EndFiltered, // Anthropic, Bedrock
	"safety": EndFiltered, "recitation": EndFiltered, "blocklist": EndFiltered, "prohibited_content": EndFiltered, "spii": EndFiltered, // Gemini
	"image_safety": EndFiltered, "image_prohibited_content": EndFiltered, "image_recitation": EndFiltered, "image_other": EndFiltered, // Gemini
	"model_armor": EndFiltered, "error_toxic": EndFiltered, // Vertex AI, Cohere

	"malformed_function_call": EndMalformed, "unexpected_tool_call": EndMalformed, "too_many_tool_calls": EndMalformed, // Gemini
	"malformed_response": EndMalformed, "malformed_tool_use": EndMalformed, "malformed_model_output": EndMalformed, // Gemini, Bedrock

	"error": EndFailed, "network_error": EndFailed, "insufficient_system_resource": EndFailed, "abort": EndFailed, // OpenRouter, Mistral; Zhipu; DeepSeek; vLLM, SGLang
	"failed": EndFailed, "cancelled": EndFailed, "canceled": EndFailed, "in_progress": EndFailed, "queued": EndFailed, "incomplete": EndFailed, // the Responses API
	"other": EndFailed, "language": EndFailed, "finish_reason_unspecified": EndFailed, "missing_thought_signature": EndFailed, // Gemini
	"no_image": EndFailed, "unknown": EndFailed, "load": EndFailed, "unload": EndFailed, "server_error": EndFailed, // Gemini, gateways on the AI SDK, Ollama, Copilot
	"not_finished": EndFailed, "timeout": EndFailed, "user_cancel": EndFailed, // watsonx, Cohere
}

// Gate admits the tries of all calls that share a limit, such as all calls with one key of a provider. It
// decides when a try that hit the limit is repeated, and when to give up. Implementations are safe for
// concurrent use.
type Gate interface {
	// Enter waits until a try of t's call may be sent. An error is a *fault.Error, or the cancellation of
	// ctx; then nothing was admitted.
	Enter(ctx context.Context, t *Ticket) (Pass, error)
}

// Ticket belongs to one call and is passed to each of its tries, so that a refused try does not queue behind
// later calls. A new call has a new ticket, with only Tokens set.
type Ticket struct {
	Tokens  int64         // estimated tokens of input; 0 if unknown
	Refused int           // tries that hit the provider's rate limit
	Wait    time.Duration // estimated wait before the next try; set by [Pass.Done] after the limit was hit
	Place   any           // the gate's own data
}

// Pass is an admitted try. Done must be called exactly once, after the try has ended, with the results of
// [Model].
type Pass interface {
	Done(resp *Response, err error)
}

// Rate holds the limits of a key, as a provider reports them.
type Rate struct {
	Requests, Tokens Window
}

// Window is one limit. It is unknown if Limit is 0.
type Window struct {
	Limit     int64         // per minute
	Remaining int64         // that may still be used now
	Reset     time.Duration // until Remaining is Limit again; 0 if unknown
}
