package stub

import (
	"encoding/json"
	"net/http"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Finish reasons of an [Answer] that are written as each protocol names them. Any other
// text is sent as it is.
const (
	FinishStop     = "stop"
	FinishTools    = "tool_calls"
	FinishLength   = "length"
	FinishRefused  = "content_filter" // Anthropic's refusal, Gemini's SAFETY
	FinishPaused   = "pause_turn"     // only Anthropic knows it
	finishContinue = ""               // FinishTools with calls, otherwise FinishStop
)

// Answer describes how the server answers one request, in the request's protocol. The zero value is
// an assistant message with empty content.
type Answer struct {
	Content   string
	Reasoning string         // thought before Content, signed by the server
	ToolCalls []llm.ToolCall // missing ids are named after their place
	Message   map[string]any // members that replace a chat completion's in its message

	// Parts, when not nil, replaces Reasoning, Content and ToolCalls: texts, reasoning
	// and tool calls in this order. Reasoning without text is redacted or encrypted;
	// Opaque.Data is its signature, which the server makes if there is none.
	Parts []llm.Part

	FinishReason string // "" = FinishTools with calls, otherwise FinishStop
	Usage        vocab.Usage
	ServiceTier  string   // "" = the protocol's usual one
	Cost         *float64 // usage.cost, as OpenRouter sends it
	NoUsage      bool     // leaves the usage out
	Model        string   // "" = as asked for

	Header     map[string]string // added to the response
	RetryAfter time.Duration     // when to try again; 0 does not say
	RetryForm  RetryForm         // of RetryAfter
	Rate       llm.Rate          // the key's limits, in the provider's headers
	Delay      time.Duration     // before anything is sent
	Pace       time.Duration     // between the events of a stream, or the bytes of a Drip
	Fault      Fault

	// Status other than 0 and 200 sends Error in the provider's form, with its usual words
	// where there are none.
	Status int
	Error  ErrorBody

	// Body, when not nil, is sent in place of everything else.
	Body []byte
}

// ErrorBody is the content of an error answer. Its JSON is the object in the "error" member
// of an OpenAI answer; the other protocols take Message, and Code or Type where it
// is one of their own names.
type ErrorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    any     `json:"code"`
}

// Text returns an answer that says text.
func Text(text string) Answer { return Answer{Content: text} }

// Bash returns an answer that calls the tool bash with a command.
func Bash(command string) Answer { return Answer{ToolCalls: []llm.ToolCall{BashCall("", command)}} }

// BashCall returns a call of the tool bash. An empty id is named by the server.
func BashCall(id, command string) llm.ToolCall {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err) // a map of strings can always be written
	}
	return llm.ToolCall{ID: id, Name: "bash", Arguments: string(args)}
}

// Refusal returns an answer with an error status, code and message.
func Refusal(status int, code, message string) Answer {
	return Answer{Status: status, Error: ErrorBody{Message: message, Type: "error", Code: code}}
}

// status returns the HTTP status of the answer.
func (a Answer) status() int {
	if a.Status == 0 {
		return http.StatusOK
	}
	return a.Status
}

// parts returns the content in order.
func (a Answer) parts() []llm.Part {
	if a.Parts != nil {
		return a.Parts
	}
	var parts []llm.Part
	if a.Reasoning != "" {
		parts = append(parts, llm.Reasoning{Text: a.Reasoning})
	}
	return append(parts, llm.Say(a.Content, a.ToolCalls...)...)
}

// finish returns the reason, with the usual one filled in.
func (a Answer) finish() string {
	if a.FinishReason != finishContinue {
		return a.FinishReason
	}
	if len(llm.Message{Parts: a.parts()}.ToolCalls()) > 0 {
		return FinishTools
	}
	return FinishStop
}

// finishAs is finish in the words of a protocol.
func (a Answer) finishAs(words map[string]string) string {
	reason := a.finish()
	if word, ok := words[reason]; ok {
		return word
	}
	return reason
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only what tests put into an Answer can be at fault
	}
	return data
}

// object is a JSON object.
type object = map[string]any

// argumentsOf returns a call's arguments as a JSON value. Malformed ones are sent as text,
// which is as wrong as this place allows.
func argumentsOf(c llm.ToolCall) any {
	if json.Valid([]byte(c.Arguments)) {
		return json.RawMessage(c.Arguments)
	}
	return c.Arguments
}

// pieces cuts text as a stream sends it: a few characters each, and not above
// a hundred pieces.
func pieces(text string) []string {
	size := max(16, len(text)/100)
	var cut []string
	start := 0
	for i := range text {
		if i-start >= size {
			cut = append(cut, text[start:i])
			start = i
		}
	}
	return append(cut, text[start:])
}
