package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/internal/openaiapi"
	"batch.example/batch/vocab"
)

// response reads an answer. A reply is paid for, so that an odd one does not cause another request: its
// readable parts are read, and the rest is the model's format error.
func (m *Model) response(body []byte, header http.Header) (*llm.Response, error) {
	body = endpoint.Text(body)
	c := endpoint.Members(body) // the SDK's own type is stricter than the servers that claim to be compatible
	if c == nil {
		if err := json.Unmarshal(body, &c); err != nil {
			return nil, m.At.Garbled("the answer is not a chat completion", err)
		}
	}
	if failed := endpoint.Failure(c); failed != nil {
		return nil, m.At.RefusedInside(header, wrap(failed))
	}
	var choice map[string]json.RawMessage
	if choices := endpoint.List(c["choices"]); len(choices) > 0 {
		choice = endpoint.Members(choices[0])
	}
	if endpoint.IsError(choice["error"]) {
		return nil, m.At.Broke(header, wrap(choice["error"]))
	}
	used := c["usage"]
	if !endpoint.IsSet(used) {
		used = choice["usage"] // Moonshot streams it here
	}
	finish := endpoint.Word(choice["finish_reason"])
	usage, cost := readUsage(used, header)
	end := llm.EndOf(finish)
	paid := usage != vocab.Usage{} || cost != nil && *cost > 0 || end == llm.EndFiltered || end == llm.EndMalformed // Gemini leaves the message out then
	switch {
	case paid:
	case choice == nil:
		return nil, m.At.Garbled("the answer has no choices", nil)
	case endpoint.Members(choice["message"]) == nil:
		return nil, fault.Newf(fault.Transient, "%s: the answer has no message", m.At.Op())
	}
	msg, err := readMessage(choice["message"])
	if err != nil { // the answer is paid for
		msg = llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(string(choice["message"]))}
	}
	resp := &llm.Response{
		Message:      msg,
		FinishReason: finish,
		Usage:        usage,
		Model:        cmp.Or(endpoint.Word(c["model"]), m.At.Model),
		Service:      openaiapi.Service(c["service_tier"]),
		Raw:          body,
	}
	m.At.Price(resp, cost)
	return resp, nil
}

// readMessage keeps the provider's object, and adds a missing role. Members with a wrong type are converted
// to the right one.
func readMessage(raw json.RawMessage) (llm.Message, error) {
	if msg, err := llm.Understood(raw); err == nil && msg.Role == llm.RoleAssistant {
		msg.Chat, msg.Extra = bytes.Clone(raw), nil // the rest of the answer is not kept
		return msg, nil
	}
	fixed, err := history.Encode(repaired(raw))
	if err != nil {
		return llm.Message{}, err
	}
	msg, err := llm.Understood(fixed)
	msg.Chat, msg.Extra = fixed, nil
	return msg, err
}

// repaired returns a message with members of the protocol's types, without empty and unreadable ones.
func repaired(raw json.RawMessage) map[string]json.RawMessage {
	message := endpoint.Members(raw)
	if message == nil {
		return map[string]json.RawMessage{"role": history.MustEncode(llm.RoleAssistant), "content": history.MustEncode(endpoint.Word(raw))}
	}
	var calls []json.RawMessage
	_ = json.Unmarshal(message["tool_calls"], &calls)
	message["role"], message["content"] = history.MustEncode(llm.RoleAssistant), said(message["content"])
	delete(message, "extra") // it would be read as batch's own
	delete(message, "tool_call_id")
	delete(message, "tool_calls")
	var list []any
	for _, call := range calls {
		if c := endpoint.Members(call); c != nil {
			list = append(list, toolCall(c))
		}
	}
	if list != nil {
		message["tool_calls"] = history.MustEncode(list)
	}
	return message
}

// said returns content as a text, or as a list of parts.
func said(raw json.RawMessage) json.RawMessage {
	if !endpoint.IsSet(raw) {
		return json.RawMessage("null")
	}
	if raw[0] != '[' && raw[0] != '{' {
		return history.MustEncode(endpoint.Word(raw))
	}
	list := []any{}
	for _, part := range endpoint.List(raw) {
		members := endpoint.Members(part)
		if members == nil {
			members = map[string]json.RawMessage{"type": json.RawMessage(`"text"`), "text": part}
		}
		if text, ok := members["text"]; ok {
			members["text"] = history.MustEncode(endpoint.Word(text))
		}
		list = append(list, members)
	}
	return history.MustEncode(list)
}

// toolCall returns a call whose id and name are texts.
func toolCall(call map[string]json.RawMessage) map[string]json.RawMessage {
	function := endpoint.Members(call["function"])
	if function == nil {
		function = map[string]json.RawMessage{}
	}
	function["name"] = history.MustEncode(endpoint.Word(function["name"]))
	if !endpoint.IsSet(function["arguments"]) {
		function["arguments"] = json.RawMessage(`""`)
	}
	call["id"] = history.MustEncode(endpoint.Word(call["id"]))
	call["type"] = history.MustEncode(cmp.Or(endpoint.Word(call["type"]), "function"))
	call["function"] = history.MustEncode(function)
	return call
}

// readUsage reads the known members of an answer's usage and ignores the rest: the answer is paid for, and
// another request would be paid for again.
func readUsage(raw json.RawMessage, header http.Header) (u vocab.Usage, cost *float64) {
	usage := endpoint.Members(raw)
	prompt := endpoint.Members(usage["prompt_tokens_details"])
	u.Input = endpoint.Tokens(usage["prompt_tokens"])
	u.Cached = cmp.Or(endpoint.Tokens(prompt["cached_tokens"]),
		endpoint.Tokens(usage["cached_tokens"]), endpoint.Tokens(usage["prompt_cache_hit_tokens"])) // Moonshot and Together, DeepSeek
	u.CacheWrite = cmp.Or(endpoint.Tokens(prompt["cache_write_tokens"]), // OpenRouter
		endpoint.Tokens(prompt["cache_creation_tokens"]), endpoint.Tokens(usage["cache_creation_input_tokens"])) // LiteLLM
	u.Reasoning = endpoint.Tokens(endpoint.Members(usage["completion_tokens_details"])["reasoning_tokens"])
	u.Output = openaiapi.Output(endpoint.Tokens(usage["total_tokens"]), u.Input, endpoint.Tokens(usage["completion_tokens"]), u.Reasoning)
	return u, openaiapi.Cost(usage, header)
}
