package stub

import (
	"encoding/json"
	"net/http"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Finish reasons of an [Answer] that are sent in each protocol's own words. Any other text is sent unchanged.
const (
	FinishStop    = "stop"
	FinishTools   = "tool_calls"
	FinishLength  = "length"
	FinishRefused = "content_filter" // Anthropic's refusal, Gemini's SAFETY
	FinishPaused  = "pause_turn"     // only Anthropic knows it
)

// Answer describes the server's answer to one request, in the request's protocol. The zero value is
// an assistant message with empty content.
type Answer struct {
	Content   string
	Reasoning string         // thought before Content, signed by the server
	ToolCalls []llm.ToolCall // missing ids are made from their place
	Message   map[string]any // members that replace those of a chat completion's message

	// Parts, when not nil, replaces Reasoning, Content and ToolCalls: texts, reasoning and tool calls in this
	// order. Reasoning without text is redacted or encrypted; Opaque.Data is its signature, and the server
	// makes a missing one.
	Parts []llm.Part

	FinishReason string // "" = FinishTools if there are calls, otherwise FinishStop
	Usage        vocab.Usage
	ServiceTier  string   // "" = the protocol's usual one
	Cost         *float64 // usage.cost, as OpenRouter sends it
	NoUsage      bool     // omits the usage
	Model        string   // "" = the requested one

	Header     map[string]string // added to the response
	RetryAfter time.Duration     // when to try again; 0 sends nothing
	RetryForm  RetryForm         // form of RetryAfter
	Rate       llm.Rate          // the key's limits, in the provider's headers
	Delay      time.Duration     // before anything is sent
	Pace       time.Duration     // between the events of a stream, or the bytes of a Drip
	Fault      Fault

	// Status other than 0 and 200 sends Error in the provider's form, with the provider's usual words in
	// place of empty ones.
	Status int
	Error  ErrorBody

	// Body, when not nil, is sent in place of everything else.
	Body []byte
}

// ErrorBody is the content of an error answer. Its JSON is the object in the "error" member of an OpenAI
// answer; the other protocols use Message, and also Code or Type if it is one of their own names.
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

// BashCall returns a call of the tool bash. The server makes an id if it is empty.
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

// parts returns the parts of the answer, in order.
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

// finish returns the finish reason, or the usual one if it is empty.
func (a Answer) finish() string {
	if a.FinishReason != "" {
		return a.FinishReason
	}
	if len(llm.Message{Parts: a.parts()}.ToolCalls()) > 0 {
		return FinishTools
	}
	return FinishStop
}

// finishAs returns the finish reason in the words of a protocol.
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
		panic(err) // only an Answer in a test can cause this
	}
	return data
}

// object is a JSON object.
type object = map[string]any

// argumentsOf returns a call's arguments as a JSON value. Malformed arguments are sent as a JSON string.
func argumentsOf(c llm.ToolCall) any {
	if json.Valid([]byte(c.Arguments)) {
		return json.RawMessage(c.Arguments)
	}
	return c.Arguments
}

// pieces cuts text like a stream: into a few characters each, but at most a hundred pieces.
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
