package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Fault is a way for an answer to go wrong below the level of HTTP statuses.
type Fault int

const (
	// None sends the answer as it is.
	None Fault = iota
	// Garbage sends a 200 whose body is not JSON.
	Garbage
	// Half announces the whole body, sends half of it and cuts the connection.
	Half
	// Hangup cuts the connection without a byte.
	Hangup
	// Silence sends nothing until the client gives up or the server is closed.
	Silence
)

// Answer is what the server does with one request. The zero value is an
// assistant message with empty content.
type Answer struct {
	Content   string
	ToolCalls []llm.ToolCall // missing ids become "call_1", ...
	Message   map[string]any // members set over those of the message object

	FinishReason string // "" = "tool_calls" when there are any, else "stop"
	Usage        vocab.Usage
	Cost         *float64 // usage.cost, as OpenRouter sends it
	Model        string   // "" = as asked for

	Header map[string]string // added to the response
	Delay  time.Duration     // before anything is sent
	Fault  Fault

	// Status other than 0 and 200 sends Error as an OpenAI error object.
	Status int
	Error  ErrorBody

	// Body, when not nil, is sent in place of everything else.
	Body []byte
}

// ErrorBody is the object in an error answer's "error" member.
type ErrorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    any     `json:"code"`
}

// Text returns an answer that says text.
func Text(text string) Answer { return Answer{Content: text} }

// Bash returns an answer that calls the tool bash with a command.
func Bash(command string) Answer {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err) // a map of strings can always be written
	}
	return Answer{ToolCalls: []llm.ToolCall{{Name: "bash", Arguments: string(args)}}}
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

// body returns the bytes of the answer to a request for model.
func (a Answer) body(n int, model string) []byte {
	switch {
	case a.Body != nil:
		return a.Body
	case a.Fault == Garbage:
		return []byte("<html><body>502 from somewhere in between</body>")
	case a.status() != http.StatusOK:
		return encode(map[string]any{"error": a.Error})
	}
	if a.Model != "" {
		model = a.Model
	}
	finish := a.FinishReason
	if finish == "" {
		finish = "stop"
		if len(a.ToolCalls) > 0 {
			finish = "tool_calls"
		}
	}
	return encode(map[string]any{
		"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion", "created": 1, "model": model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": a.message()}},
		"usage":   a.usage(),
	})
}

func (a Answer) message() map[string]any {
	msg := map[string]any{"role": "assistant", "content": a.Content}
	var calls []any
	for i, c := range a.ToolCalls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", i+1)
		}
		calls = append(calls, map[string]any{
			"id": c.ID, "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.Arguments},
		})
	}
	if calls != nil {
		msg["tool_calls"] = calls
		if a.Content == "" {
			msg["content"] = nil
		}
	}
	for name, value := range a.Message {
		msg[name] = value
	}
	return msg
}

func (a Answer) usage() map[string]any {
	u := map[string]any{
		"prompt_tokens": a.Usage.Input, "completion_tokens": a.Usage.Output,
		"total_tokens":              a.Usage.Input + a.Usage.Output,
		"prompt_tokens_details":     map[string]any{"cached_tokens": a.Usage.Cached, "cache_write_tokens": a.Usage.CacheWrite},
		"completion_tokens_details": map[string]any{"reasoning_tokens": a.Usage.Reasoning},
	}
	if a.Cost != nil {
		u["cost"] = *a.Cost
	}
	return u
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only what tests put into Answer.Message can be at fault
	}
	return data
}
