package stub

import (
	"fmt"
	"maps"
	"net/http"

	"batch.example/batch/llm"
)

// chat is OpenAI's chat completions API.
type chat struct{}

func (chat) read(h *Handler, r *http.Request, body []byte) (*Request, *refused) {
	req, err := readChat(r.Header, body)
	if no := h.checkBearer(r); no != nil {
		return req, no
	}
	if err != nil {
		return req, illegalChat(err)
	}
	return req, nil
}

func illegalChat(err error) *refused {
	return &refused{http.StatusBadRequest, ErrorBody{Message: err.Error(), Type: "invalid_request_error", Code: "invalid_request_error"}}
}

// checkBearer compares the handler's key with the Authorization header.
func (h *Handler) checkBearer(r *http.Request) *refused {
	if h.Key == "" || r.Header.Get("Authorization") == "Bearer "+h.Key {
		return nil
	}
	return &refused{http.StatusUnauthorized, ErrorBody{
		Message: "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.",
		Type:    "invalid_request_error", Code: "invalid_api_key",
	}}
}

func (chat) failure(a Answer) (int, []byte) {
	e := openAIError(a.status(), a.Error, "This model's maximum context length is 128000 tokens. However, your messages resulted in 130112 tokens. Please reduce the length of the messages.")
	return a.status(), encode(object{"error": e})
}

func (p chat) interrupted(a Answer, _ call) event {
	_, body := p.failure(a)
	return event{data: body}
}

func (chat) whole(a Answer, c call) []byte {
	body := object{
		"id": fmt.Sprintf("chatcmpl-%d", c.n), "object": "chat.completion", "created": 1, "model": c.model,
		"choices": []any{object{"index": 0, "finish_reason": a.finish(), "message": a.message()}},
	}
	if a.ServiceTier != "" {
		body["service_tier"] = a.ServiceTier
	}
	if !a.NoUsage {
		body["usage"] = a.usage()
	}
	return encode(body)
}

func (a Answer) message() object {
	m := llm.Message{Parts: a.parts()}
	msg := object{"role": "assistant", "content": m.Text()}
	var calls []any
	for i, c := range m.ToolCalls() {
		calls = append(calls, chatCall(i, c))
	}
	if calls != nil {
		msg["tool_calls"] = calls
		if m.Text() == "" {
			msg["content"] = nil
		}
	}
	if text, details := reasoningDetails(a.parts()); details != nil {
		msg["reasoning"], msg["reasoning_details"] = text, details
	}
	maps.Copy(msg, a.Message)
	return msg
}

func chatCall(i int, c llm.ToolCall) object {
	if c.ID == "" {
		c.ID = fmt.Sprintf("call_%d", i+1)
	}
	return object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}}
}

// reasoningDetails returns reasoning in OpenRouter's form; OpenAI itself sends none.
func reasoningDetails(parts []llm.Part) (all string, details []any) {
	for _, p := range parts {
		r, ok := p.(llm.Reasoning)
		if !ok {
			continue
		}
		all += r.Text
		d := object{"type": "reasoning.text", "text": r.Text, "signature": signed(r), "index": len(details)}
		if r.Text == "" {
			d = object{"type": "reasoning.encrypted", "data": signed(r), "index": len(details)}
		}
		details = append(details, d)
	}
	return all, details
}

// signed returns the signature of a thought.
func signed(r llm.Reasoning) string {
	if r.Opaque.Data != "" {
		return r.Opaque.Data
	}
	return signature("thought", r.Text)
}

func (a Answer) usage() object {
	u := object{
		"prompt_tokens": a.Usage.Input, "completion_tokens": a.Usage.Output,
		"total_tokens":              a.Usage.Input + a.Usage.Output,
		"prompt_tokens_details":     object{"cached_tokens": a.Usage.Cached, "cache_write_tokens": a.Usage.CacheWrite},
		"completion_tokens_details": object{"reasoning_tokens": a.Usage.Reasoning},
	}
	if a.Cost != nil {
		u["cost"] = *a.Cost
	}
	return u
}

// chunk returns a chunk of a streamed chat completion.
func (chat) chunk(c call, delta object, finish any) event {
	return event{data: encode(object{
		"id": fmt.Sprintf("chatcmpl-%d", c.n), "object": "chat.completion.chunk", "created": 1, "model": c.model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
	})}
}

func (chat) named(a Answer, _ call) []llm.Part { return a.parts() }

// events returns a message's texts in pieces and its other members at once. If the request asks for the
// usage, it comes last, in a chunk without choices.
func (p chat) events(a Answer, c call) []event {
	msg := a.message()
	first := object{"role": "assistant", "content": ""}
	var list []event
	if text, ok := msg["reasoning"].(string); ok {
		for _, piece := range pieces(text) {
			list = append(list, p.chunk(c, object{"reasoning": piece}, nil))
		}
		list = append(list, p.chunk(c, object{"reasoning_details": msg["reasoning_details"]}, nil))
	}
	if text, ok := msg["content"].(string); ok {
		for _, piece := range pieces(text) {
			list = append(list, p.chunk(c, object{"content": piece}, nil))
		}
	} else {
		first["content"] = nil
	}
	for i, call := range (llm.Message{Parts: a.parts()}).ToolCalls() {
		whole := chatCall(i, call)
		function := object{"name": call.Name, "arguments": ""}
		list = append(list, p.chunk(c, object{"tool_calls": []any{object{"index": i, "id": whole["id"], "type": "function", "function": function}}}, nil))
		for _, piece := range pieces(call.Arguments) {
			list = append(list, p.chunk(c, object{"tool_calls": []any{object{"index": i, "function": object{"arguments": piece}}}}, nil))
		}
	}
	if rest := others(a.Message); len(rest) > 0 {
		list = append(list, p.chunk(c, rest, nil))
	}
	list = append([]event{p.chunk(c, first, nil)}, list...)
	list = append(list, p.chunk(c, object{}, a.finish()))
	if c.request.wantsUsage() && !a.NoUsage {
		list = append(list, event{data: encode(object{
			"id": fmt.Sprintf("chatcmpl-%d", c.n), "object": "chat.completion.chunk", "created": 1, "model": c.model,
			"choices": []any{}, "usage": a.usage(),
		})})
	}
	return append(list, event{data: []byte("[DONE]")})
}

// others returns the members of a message that no other event of a stream has.
func others(message object) object {
	rest := object{}
	for name, value := range message {
		switch name {
		case "role", "content", "tool_calls", "reasoning":
		default:
			rest[name] = value
		}
	}
	return rest
}
