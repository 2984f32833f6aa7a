package responses

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/internal/openaiapi"
	"batch.example/batch/llm/internal/sse"
	"batch.example/batch/vocab"
)

// answer holds the members of a response that this package uses. The SDK's own type is stricter than servers
// that claim to be compatible.
type answer struct {
	Status     json.RawMessage `json:"status"`
	Model      json.RawMessage `json:"model"`
	Service    json.RawMessage `json:"service_tier"`
	Output     json.RawMessage `json:"output"`
	Usage      json.RawMessage `json:"usage"`
	Error      json.RawMessage `json:"error"`
	Incomplete json.RawMessage `json:"incomplete_details"`
}

func (m *Model) response(body []byte, header http.Header) (*llm.Response, error) {
	return m.read(body, header, false)
}

// read reads an answer; began says that the model may have begun to write it.
func (m *Model) read(body []byte, header http.Header, began bool) (*llm.Response, error) {
	body = endpoint.Text(body)
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, m.At.Garbled("the answer is not a response", err)
	}
	output, status := endpoint.List(a.Output), endpoint.Word(a.Status)
	paid := charged(a.Usage, header)
	switch {
	case endpoint.IsError(a.Error):
		return nil, m.failed(header, a.Error, began || len(output) > 0 || paid)
	case status == "" && !paid && !slices.ContainsFunc(output, isObject):
		return nil, m.At.Garbled("the answer has no output", nil)
	}
	msg := llm.Message{Role: llm.RoleAssistant}
	for _, raw := range output {
		if p := part(raw); p != nil {
			msg.Parts = append(msg.Parts, p)
		}
	}
	usage, cost := readUsage(a.Usage, header)
	resp := &llm.Response{
		Message: msg, FinishReason: a.finish(msg), Usage: usage, Model: cmp.Or(endpoint.Word(a.Model), m.At.Model), Raw: body,
		Service: openaiapi.Service(a.Service),
	}
	m.At.Price(resp, cost)
	return resp, nil
}

// finish returns the reason why the answer ended, in the words of chat completions, with which the templates
// of configurations compare it.
func (a *answer) finish(msg llm.Message) string {
	switch reason, status := endpoint.Word(endpoint.Members(a.Incomplete)["reason"]), endpoint.Word(a.Status); {
	case reason == "max_output_tokens" || reason == "max_tokens":
		return "length"
	case reason != "":
		return reason // content_filter, or a server's own reason
	case slices.ContainsFunc(endpoint.List(a.Output), isCutCall):
		return "incomplete"
	case status != "" && status != "completed":
		return status
	case len(msg.ToolCalls()) > 0:
		return "tool_calls"
	}
	return "stop"
}

func isCutCall(raw json.RawMessage) bool {
	item := endpoint.Members(raw)
	return endpoint.Word(item["type"]) == "function_call" && endpoint.Word(item["status"]) == "incomplete"
}

func isObject(raw json.RawMessage) bool { return endpoint.Members(raw) != nil }

// part converts an item of an answer to a part; nil if it is empty.
func part(raw json.RawMessage) llm.Part {
	members := endpoint.Members(raw)
	if members == nil {
		return endpoint.Plain(raw)
	}
	as := llm.Opaque{Provider: opaque, Data: string(raw)}
	switch kind := endpoint.Word(members["type"]); {
	case kind == "message":
		return llm.Text{Text: join(members["content"], ""), Opaque: as}
	case kind == "function_call", strings.HasSuffix(kind, "_call") && endpoint.IsSet(members["call_id"]): // the latter of a program's own kinds of tools
		arguments := cmp.Or(endpoint.Word(members["arguments"]), endpoint.Word(members["input"]), endpoint.Word(members["action"]))
		return llm.ToolCall{ID: endpoint.Word(members["call_id"]), Name: endpoint.Word(members["name"]), Arguments: arguments, Opaque: as}
	case kind == "reasoning":
		return llm.Reasoning{Text: cmp.Or(join(members["summary"], "\n\n"), join(members["content"], "\n\n")), Opaque: as}
	}
	return llm.Reasoning{Opaque: as}
}

// join joins the texts in a list, whose elements are objects or plain texts.
func join(list json.RawMessage, sep string) string {
	var texts []string
	for _, raw := range endpoint.List(list) {
		text := endpoint.Word(raw)
		if members := endpoint.Members(raw); members != nil {
			text = cmp.Or(endpoint.Word(members["text"]), endpoint.Word(members["refusal"]))
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, sep)
}

// readUsage reads the known members of an answer's usage and ignores the rest: the answer is paid for, and
// another request would be paid for again.
func readUsage(raw json.RawMessage, header http.Header) (u vocab.Usage, cost *float64) {
	usage := endpoint.Members(raw)
	input, output := endpoint.Members(usage["input_tokens_details"]), endpoint.Members(usage["output_tokens_details"])
	u = vocab.Usage{
		Input:  endpoint.Tokens(usage["input_tokens"]),
		Cached: endpoint.Tokens(input["cached_tokens"]), CacheWrite: endpoint.Tokens(input["cache_write_tokens"]),
		Reasoning: endpoint.Tokens(output["reasoning_tokens"]),
	}
	u.Output = openaiapi.Output(endpoint.Tokens(usage["total_tokens"]), u.Input, endpoint.Tokens(usage["output_tokens"]), u.Reasoning)
	return u, openaiapi.Cost(usage, header)
}

// charged reports whether an answer shows that it was paid for.
func charged(usage json.RawMessage, header http.Header) bool {
	u, cost := readUsage(usage, header)
	return u != vocab.Usage{} || cost != nil && *cost > 0
}

// verdict returns the error of an answer in the form of a refusal, and the HTTP status of such a refusal.
func verdict(raw json.RawMessage) (status int, body []byte) {
	members := endpoint.Members(raw)
	if members == nil {
		members = map[string]json.RawMessage{"message": raw}
	}
	var code, kind string
	_ = json.Unmarshal(members["code"], &code)
	_ = json.Unmarshal(members["type"], &kind)
	if status = int(endpoint.Tokens(members["code"])); status < 400 || status >= 600 { // vLLM's code is the status
		status = statuses(cmp.Or(code, kind))
	}
	kinds := code + " " + kind
	if strings.Contains(kinds, "polic") || code == "invalid_prompt" { // bio_policy, image_content_policy_violation
		kinds += " content_policy"
	}
	members["code"], _ = json.Marshal(status)
	members["type"], _ = json.Marshal(strings.TrimSpace(kinds))
	body, _ = json.Marshal(map[string]any{"error": members})
	return status, body
}

func statuses(code string) int {
	switch {
	case code == "rate_limit_exceeded", code == "rate_limit_error", code == "insufficient_quota":
		return http.StatusTooManyRequests
	case code == "context_length_exceeded", code == "invalid_request_error", code == "invalid_prompt", code == "data_residency_mismatch",
		strings.Contains(code, "polic"), strings.Contains(code, "image"):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// event holds the members of a stream's event that this package uses. The model's text is ignored until its
// item is complete.
type event struct {
	Type     string          `json:"type"`
	Response json.RawMessage `json:"response"`
	Index    json.RawMessage `json:"output_index"`
	Item     json.RawMessage `json:"item"`
	Error    json.RawMessage `json:"error"`
}

// stream reads an answer event by event. The last event has the whole answer.
func (m *Model) stream(answer *http.Response) (*llm.Response, error) {
	events, items := sse.NewReader(answer.Body), map[int]json.RawMessage{}
	some, began := false, false // began: the model has written something, which is paid for
	for e := range events.All() {
		if e.IsEnd() {
			break
		}
		var ev event
		if err := json.Unmarshal(e.Data, &ev); err != nil {
			return nil, m.At.Soiled(some, "an event of the answer is not an object", err)
		}
		some = true
		if ev.Type == "" {
			ev.Type = e.Type
		}
		switch began = began || strings.HasPrefix(ev.Type, "response.output_item."); ev.Type {
		case "response.output_item.done":
			items[int(endpoint.Tokens(ev.Index))] = ev.Item
		case "response.completed", "response.incomplete", "response.failed":
			return m.read(complete(ev.Response, items), answer.Header, began)
		case "error":
			if !endpoint.IsSet(ev.Error) {
				ev.Error = e.Data // OpenAI's own has its members at the top
			}
			return nil, m.failed(answer.Header, ev.Error, began)
		case "":
			if endpoint.IsSet(ev.Error) {
				return nil, m.failed(answer.Header, ev.Error, began)
			}
		}
	}
	switch {
	case events.Err() != nil:
		return nil, events.Err()
	case !some:
		return nil, m.At.Garbled("the answer is not a stream of events", nil)
	}
	return nil, fault.Newf(fault.Transient, "%s: the stream ended before the answer was complete", m.At.Op())
}

// complete returns the response of the last event. If a server leaves out its output, the items of the
// earlier events take its place.
func complete(response json.RawMessage, items map[int]json.RawMessage) json.RawMessage {
	members := endpoint.Members(response)
	var output []json.RawMessage
	if len(items) == 0 || members == nil || json.Unmarshal(members["output"], &output) == nil && len(output) > 0 {
		return response
	}
	for _, i := range slices.Sorted(maps.Keys(items)) {
		output = append(output, items[i])
	}
	members["output"], _ = history.Encode(output)
	whole, _ := history.Encode(members)
	return whole
}
