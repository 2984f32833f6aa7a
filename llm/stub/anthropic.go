package stub

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"batch.example/batch/llm"
)

// anthropic is Anthropic's Messages API.
type anthropic struct{}

// anthropicFinish maps finish reasons to stop reasons.
var anthropicFinish = map[string]string{
	FinishStop: "end_turn", FinishTools: "tool_use", FinishLength: "max_tokens", FinishRefused: "refusal",
}

// anthropicErrors maps statuses to types of errors.
var anthropicErrors = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 408: "timeout_error", 413: "request_too_large", 429: "rate_limit_error",
	500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

func (anthropic) failure(a Answer) (int, []byte) {
	status := a.status()
	if a.Error.Code == CodeNoQuota && a.Error.Message == "" {
		status = http.StatusBadRequest
	}
	kind := anthropicErrors[status]
	if code, ok := a.Error.Code.(string); ok && strings.HasSuffix(code, "_error") {
		kind = code
	}
	if kind == "" {
		kind = "api_error"
	}
	message := a.Error.message(status, anthropicCodes, anthropicMessages)
	return status, encode(object{
		"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_stub",
	})
}

func (p anthropic) interrupted(a Answer, _ call) event {
	_, body := p.failure(a)
	return event{"error", body}
}

func (p anthropic) whole(a Answer, c call) []byte {
	msg := p.message(a, c)
	msg["content"] = p.blocks(a, c)
	msg["stop_reason"] = a.finishAs(anthropicFinish)
	if a.finish() == FinishRefused {
		msg["stop_details"] = refusalDetails
	}
	if !a.NoUsage {
		msg["usage"] = p.usage(a)
	}
	return encode(msg)
}

var refusalDetails = object{"type": "refusal", "category": "cyber", "explanation": "The request was declined."}

// message returns a message without content.
func (anthropic) message(_ Answer, c call) object {
	return object{
		"id": fmt.Sprintf("msg_%06d", c.n), "type": "message", "role": "assistant", "model": c.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
	}
}

func (p anthropic) blocks(a Answer, c call) []any {
	blocks := []any{}
	for i, part := range a.parts() {
		blocks = append(blocks, p.block(part, c, i))
	}
	return blocks
}

func (anthropic) block(part llm.Part, c call, i int) object {
	switch part := part.(type) {
	case llm.Reasoning:
		if part.Text == "" {
			return object{"type": "redacted_thinking", "data": redacted(part, c, i)}
		}
		return object{"type": "thinking", "thinking": part.Text, "signature": signed(part)}
	case llm.ToolCall:
		return object{"type": "tool_use", "id": callName(part, "toolu", c, i), "name": part.Name, "input": argumentsOf(part)}
	case llm.Text:
		return object{"type": "text", "text": part.Text}
	}
	panic(fmt.Sprintf("stub: an answer cannot have a part of type %T", part))
}

// redacted returns the data of reasoning without text.
func redacted(r llm.Reasoning, c call, i int) string {
	if r.Opaque.Data != "" {
		return r.Opaque.Data
	}
	return sealed("redacted", fmt.Sprintf("%d.%d", c.n, i))
}

// callName returns a tool call's id, which is unique among a server's answers.
func callName(t llm.ToolCall, prefix string, c call, i int) string {
	if t.ID != "" {
		return t.ID
	}
	return fmt.Sprintf("%s_%06d_%d", prefix, c.n, i+1)
}

func (anthropic) usage(a Answer) object {
	u, tier := a.Usage, a.ServiceTier
	if tier == "" {
		tier = "standard"
	}
	return object{
		"input_tokens": u.Input - u.Cached - u.CacheWrite, "output_tokens": u.Output,
		"cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.CacheWrite,
		"cache_creation": object{
			"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheHour, "ephemeral_1h_input_tokens": u.CacheHour,
		},
		"output_tokens_details": object{"thinking_tokens": u.Reasoning}, "service_tier": tier,
	}
}

func (p anthropic) named(a Answer, c call) []llm.Part {
	parts := slices.Clone(a.parts())
	for i, part := range parts {
		switch part := part.(type) {
		case llm.Reasoning:
			if part.Text == "" {
				part.Opaque.Data = redacted(part, c, i)
			} else {
				part.Opaque.Data = signed(part)
			}
			parts[i] = part
		case llm.ToolCall:
			part.ID = callName(part, "toolu", c, i)
			parts[i] = part
		}
	}
	return parts
}

func (p anthropic) events(a Answer, c call) []event {
	msg := p.message(a, c)
	end := p.usage(a)
	for _, name := range []string{"cache_creation", "service_tier"} {
		delete(end, name)
	}
	if !a.NoUsage {
		start := p.usage(a)
		start["output_tokens"] = 1
		delete(start, "output_tokens_details")
		msg["usage"] = start
	} else {
		msg["usage"], end = object{"input_tokens": 0, "output_tokens": 0}, object{"output_tokens": 0}
	}
	list := []event{anthropicEvent(object{"type": "message_start", "message": msg}), anthropicEvent(object{"type": "ping"})}
	for i, part := range a.parts() {
		list = append(list, p.blockEvents(part, c, i)...)
	}
	delta := object{"stop_reason": a.finishAs(anthropicFinish), "stop_sequence": nil}
	if a.finish() == FinishRefused {
		delta["stop_details"] = refusalDetails
	}
	return append(list,
		anthropicEvent(object{"type": "message_delta", "delta": delta, "usage": end}),
		anthropicEvent(object{"type": "message_stop"}))
}

// blockEvents returns the events of one block: its empty form, its text in pieces, its end.
func (p anthropic) blockEvents(part llm.Part, c call, i int) []event {
	block := p.block(part, c, i)
	var deltas []object
	inPieces := func(kind, member, text string) {
		for _, piece := range pieces(text) {
			deltas = append(deltas, object{"type": kind, member: piece})
		}
	}
	switch part := part.(type) {
	case llm.Text:
		inPieces("text_delta", "text", part.Text)
		block["text"] = ""
	case llm.ToolCall:
		inPieces("input_json_delta", "partial_json", part.Arguments)
		block["input"] = object{}
	case llm.Reasoning:
		if part.Text == "" {
			break
		}
		inPieces("thinking_delta", "thinking", part.Text)
		deltas = append(deltas, object{"type": "signature_delta", "signature": block["signature"]})
		block["thinking"], block["signature"] = "", ""
	}
	list := []event{anthropicEvent(object{"type": "content_block_start", "index": i, "content_block": block})}
	for _, d := range deltas {
		list = append(list, anthropicEvent(object{"type": "content_block_delta", "index": i, "delta": d}))
	}
	return append(list, anthropicEvent(object{"type": "content_block_stop", "index": i}))
}

func anthropicEvent(o object) event { return event{o["type"].(string), encode(o)} }

// anthropicMembers lists the members that a request may have.
var anthropicMembers = names(`model max_tokens messages system metadata stop_sequences stream temperature top_k top_p
	tools tool_choice thinking service_tier container context_management mcp_servers output_config output_format
	inference_geo speed cache_control diagnostics`)

func (anthropic) read(h *Handler, r *http.Request, body []byte) (*Request, *refused) {
	req, err := newRequest(Anthropic, r.Header, body)
	if no := h.checkAnthropicHeader(r); no != nil {
		return req, no
	}
	if err == nil {
		err = readAnthropic(req, &h.sent)
	}
	if err == nil {
		err = h.sent.checkThinking(req)
	}
	if err != nil {
		return req, &refused{http.StatusBadRequest, ErrorBody{Message: err.Error()}}
	}
	return req, nil
}

func (h *Handler) checkAnthropicHeader(r *http.Request) *refused {
	key, bearer := r.Header.Get("X-Api-Key"), r.Header.Get("Authorization")
	switch {
	case key == "" && bearer == "":
		return &refused{http.StatusUnauthorized, ErrorBody{Message: "x-api-key header is required"}}
	case h.Key != "" && key != h.Key && bearer != "Bearer "+h.Key:
		return &refused{http.StatusUnauthorized, ErrorBody{Message: "invalid x-api-key"}}
	case r.Header.Get("Anthropic-Version") == "":
		return &refused{http.StatusBadRequest, ErrorBody{Message: "anthropic-version: header is required"}}
	}
	return nil
}
