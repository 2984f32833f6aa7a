package stub

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"batch.example/batch/llm"
)

// responses is OpenAI's Responses API.
type responses struct{}

func (responses) failure(a Answer) (int, []byte) {
	e := openAIError(a.status(), a.Error, "Your input exceeds the context window of this model. Please adjust your input and try again.")
	if e.Param != nil && a.Error.Param == nil {
		input := "input"
		e.Param = &input
	}
	return a.status(), encode(object{"error": e})
}

// interrupted returns a failed response.
func (p responses) interrupted(a Answer, c call) event {
	return responsesEvent(object{"type": "response.failed", "sequence_number": 9999, "response": p.failed(a, c)})
}

func (p responses) failed(a Answer, c call) object {
	e := openAIError(a.status(), a.Error, "Your input exceeds the context window of this model. Please adjust your input and try again.")
	if e.Code == nil {
		e.Code = "server_error"
	}
	body := p.response(Answer{}, c, "failed", []any{})
	body["error"] = object{"code": e.Code, "message": e.Message}
	return body
}

func (p responses) whole(a Answer, c call) []byte {
	body := p.response(a, c, p.status(a), p.items(a, c))
	if !a.NoUsage {
		body["usage"] = p.usage(a)
	}
	return encode(body)
}

// status returns the status of a response that has ended.
func (responses) status(a Answer) string {
	switch a.finish() {
	case FinishStop, FinishTools:
		return "completed"
	}
	return "incomplete"
}

func (responses) response(a Answer, c call, status string, output []any) object {
	tier := a.ServiceTier
	if tier == "" {
		tier = "default"
	}
	body := object{
		"id": fmt.Sprintf("resp_%06d", c.n), "object": "response", "created_at": 1, "model": c.model,
		"status": status, "error": nil, "incomplete_details": nil, "output": output,
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "service_tier": tier,
		"store": c.request == nil || c.request.stores(), "usage": nil,
	}
	if status == "incomplete" {
		body["incomplete_details"] = object{"reason": a.finishAs(map[string]string{FinishLength: "max_output_tokens"})}
	}
	return body
}

func (responses) usage(a Answer) object {
	u := object{
		"input_tokens": a.Usage.Input, "output_tokens": a.Usage.Output, "total_tokens": a.Usage.Input + a.Usage.Output,
		"input_tokens_details":  object{"cached_tokens": a.Usage.Cached, "cache_write_tokens": a.Usage.CacheWrite},
		"output_tokens_details": object{"reasoning_tokens": a.Usage.Reasoning},
	}
	if a.Cost != nil {
		u["cost"] = *a.Cost
	}
	return u
}

// items returns the output items of an answer.
func (p responses) items(a Answer, c call) []any {
	items := []any{}
	for i, part := range a.parts() {
		items = append(items, p.item(part, a, c, i))
	}
	return items
}

func (p responses) item(part llm.Part, a Answer, c call, i int) object {
	status := "completed"
	if p.status(a) == "incomplete" && i == len(a.parts())-1 {
		status = "incomplete"
	}
	switch part := part.(type) {
	case llm.Reasoning:
		item := object{"type": "reasoning", "id": itemID("rs", c, i), "summary": []any{}}
		if part.Text != "" {
			item["summary"] = []any{object{"type": "summary_text", "text": part.Text}}
		}
		if c.request.wantsEncrypted() {
			item["encrypted_content"] = encrypted(part, item["id"].(string))
		}
		return item
	case llm.ToolCall:
		return object{
			"type": "function_call", "id": itemID("fc", c, i), "call_id": callName(part, "call", c, i),
			"name": part.Name, "arguments": part.Arguments, "status": status,
		}
	case llm.Text:
		content := object{"type": "output_text", "text": part.Text, "annotations": []any{}, "logprobs": []any{}}
		if a.finish() == FinishRefused {
			content = object{"type": "refusal", "refusal": part.Text}
		}
		return object{
			"type": "message", "id": itemID("msg", c, i), "role": "assistant", "status": status, "content": []any{content},
		}
	}
	panic(fmt.Sprintf("stub: an answer cannot have a part of type %T", part))
}

func itemID(prefix string, c call, i int) string { return fmt.Sprintf("%s_%06d_%d", prefix, c.n, i+1) }

// encrypted returns the encrypted content of a reasoning item; it is bound to the item's id.
func encrypted(r llm.Reasoning, id string) string {
	if r.Opaque.Data != "" {
		return r.Opaque.Data
	}
	return sealed("reasoning", id+" "+r.Text)
}

func responsesEvent(o object) event { return event{name: o["type"].(string), data: encode(o)} }

func (p responses) named(a Answer, c call) []llm.Part {
	parts := slices.Clone(a.parts())
	for i, part := range parts {
		switch part := part.(type) {
		case llm.Reasoning:
			if c.request.wantsEncrypted() {
				part.Opaque.Data = encrypted(part, itemID("rs", c, i))
			}
			parts[i] = part
		case llm.ToolCall:
			part.ID = callName(part, "call", c, i)
			parts[i] = part
		}
	}
	return parts
}

func (p responses) events(a Answer, c call) []event {
	number := 0
	var list []event
	add := func(kind string, o object) {
		o["type"], o["sequence_number"] = kind, number
		number++
		list = append(list, responsesEvent(o))
	}
	add("response.created", object{"response": p.response(a, c, "in_progress", []any{})})
	add("response.in_progress", object{"response": p.response(a, c, "in_progress", []any{})})
	for i, part := range a.parts() {
		p.stream(part, p.item(part, a, c, i), i, add)
	}
	body := p.response(a, c, p.status(a), p.items(a, c))
	if !a.NoUsage {
		body["usage"] = p.usage(a)
	}
	add("response."+p.status(a), object{"response": body})
	return list
}

// stream adds the events of an item: its beginning, its text in pieces, and the whole item.
func (responses) stream(part llm.Part, item object, at int, add func(string, object)) {
	id := item["id"]
	inPieces := func(kind, text, done string, place object) {
		for _, piece := range pieces(text) {
			o := object{"item_id": id, "output_index": at, "delta": piece}
			maps.Copy(o, place)
			add(kind+".delta", o)
		}
		o := object{"item_id": id, "output_index": at, done: text}
		maps.Copy(o, place)
		add(kind+".done", o)
	}
	begun := maps.Clone(item)
	delete(begun, "encrypted_content")
	begun["status"] = "in_progress"
	switch part := part.(type) {
	case llm.Reasoning:
		begun["summary"] = []any{}
		delete(begun, "status")
		add("response.output_item.added", object{"output_index": at, "item": begun})
		if part.Text != "" {
			place := object{"summary_index": 0}
			add("response.reasoning_summary_part.added", object{"item_id": id, "output_index": at, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
			inPieces("response.reasoning_summary_text", part.Text, "text", place)
			add("response.reasoning_summary_part.done", object{"item_id": id, "output_index": at, "summary_index": 0, "part": object{"type": "summary_text", "text": part.Text}})
		}
	case llm.ToolCall:
		begun["arguments"] = ""
		add("response.output_item.added", object{"output_index": at, "item": begun})
		inPieces("response.function_call_arguments", part.Arguments, "arguments", nil)
	case llm.Text:
		begun["content"] = []any{}
		content := item["content"].([]any)[0].(object)
		place := object{"content_index": 0}
		kind, member, empty := "response.output_text", "text", object{"type": "output_text", "text": "", "annotations": []any{}}
		if content["type"] == "refusal" {
			kind, member, empty = "response.refusal", "refusal", object{"type": "refusal", "refusal": ""}
		}
		add("response.output_item.added", object{"output_index": at, "item": begun})
		add("response.content_part.added", object{"item_id": id, "output_index": at, "content_index": 0, "part": empty})
		inPieces(kind, part.Text, member, place)
		add("response.content_part.done", object{"item_id": id, "output_index": at, "content_index": 0, "part": content})
	}
	add("response.output_item.done", object{"output_index": at, "item": item})
}

// responsesMembers lists the members that a request may have.
var responsesMembers = names(`background instructions max_output_tokens max_tool_calls parallel_tool_calls previous_response_id
	prompt_cache_key safety_identifier store temperature top_logprobs top_p user context_management conversation include
	metadata moderation prompt prompt_cache_retention prompt_cache_options service_tier stream stream_options truncation
	access_programs input model reasoning text tool_choice tools`)

func (responses) read(h *Handler, r *http.Request, body []byte) (*Request, *refused) {
	req, err := newRequest(Responses, r.Header, body)
	if no := h.checkBearer(r); no != nil {
		return req, no
	}
	if err != nil {
		return req, illegalChat(err)
	}
	return req, readResponses(req, &h.sent)
}
