package responses

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/openaiapi"
	"batch.example/batch/vocab"
)

// answer holds the members we need of a response. The SDK's own type is stricter than
// the servers that claim to be compatible.
type answer struct {
	Status     string            `json:"status"`
	Model      string            `json:"model"`
	Service    any               `json:"service_tier"` // a string
	Output     []json.RawMessage `json:"output"`
	Usage      json.RawMessage   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

func (m *Model) response(body []byte, header http.Header) (*llm.Response, error) {
	return m.read(body, header, false)
}

// read is response of an answer of which the model may have begun to write something.
func (m *Model) read(body []byte, header http.Header, began bool) (*llm.Response, error) {
	body = endpoint.Text(body)
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, m.garbled("the answer is not a response", err)
	}
	switch {
	case endpoint.IsSet(a.Error):
		return nil, m.failed(header, a.Error, began || len(a.Output) > 0 || charged(a.Usage, header))
	case a.Output == nil && a.Status == "":
		return nil, m.garbled("the answer has no output", nil)
	case a.Status != "" && a.Status != "completed" && a.Status != "incomplete":
		return nil, fault.Newf(fault.Transient, "%s: the answer's status is %q", m.at.Op(), m.at.Mask.Text(a.Status))
	}
	msg := llm.Message{Role: llm.RoleAssistant}
	for _, raw := range a.Output {
		p, err := part(raw)
		if err != nil {
			return nil, m.garbled("an item of the answer is not an object", err)
		}
		msg.Parts = append(msg.Parts, p)
	}
	usage, cost := readUsage(a.Usage, header)
	resp := &llm.Response{
		Message: msg, FinishReason: a.finish(msg), Usage: usage, Model: cmp.Or(a.Model, m.at.Model), Raw: body,
		Service: openaiapi.Service(a.Service),
	}
	m.at.Price(resp, cost)
	return resp, nil
}

// finish says why the answer ended in the words of chat completions, which the templates
// of configurations compare with.
func (a *answer) finish(msg llm.Message) string {
	switch reason := a.Incomplete.Reason; {
	case reason == "max_output_tokens" || reason == "max_tokens":
		return "length"
	case reason != "":
		return reason // content_filter
	case a.Status == "incomplete":
		return a.Status
	case len(msg.ToolCalls()) > 0:
		return "tool_calls"
	}
	return "stop"
}

// itemMembers are the members of an item that we read.
type itemMembers struct {
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Content   []textMembers   `json:"content"`
	Summary   []textMembers   `json:"summary"`
}

type textMembers struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// part returns the part that an item of an answer is.
func part(raw json.RawMessage) (llm.Part, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, cmp.Or(err, errors.New("it is null"))
	}
	as := llm.Opaque{Provider: opaque, Data: string(raw)}
	var it itemMembers
	if json.Unmarshal(raw, &it) != nil {
		return llm.Reasoning{Opaque: as}, nil // its kind is not known
	}
	switch it.Type {
	case "message":
		return llm.Text{Text: join(it.Content, ""), Opaque: as}, nil
	case "function_call":
		return llm.ToolCall{ID: it.CallID, Name: it.Name, Arguments: argumentText(it.Arguments), Opaque: as}, nil
	case "reasoning":
		return llm.Reasoning{Text: cmp.Or(join(it.Summary, "\n\n"), join(it.Content, "\n\n")), Opaque: as}, nil
	}
	return llm.Reasoning{Opaque: as}, nil
}

func join(list []textMembers, sep string) string {
	texts := make([]string, len(list))
	for i, t := range list {
		texts[i] = cmp.Or(t.Text, t.Refusal)
	}
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), sep)
}

// argumentText is JSON in a string; some servers write the JSON itself instead.
func argumentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// readUsage reads what it understands of an answer's usage and passes over the
// rest: the answer is paid for, and asking again would pay for it twice.
func readUsage(raw json.RawMessage, header http.Header) (u vocab.Usage, cost *float64) {
	usage := endpoint.Members(raw)
	input, output := endpoint.Members(usage["input_tokens_details"]), endpoint.Members(usage["output_tokens_details"])
	u = vocab.Usage{
		Input:  openaiapi.Tokens(usage["input_tokens"]),
		Cached: openaiapi.Tokens(input["cached_tokens"]), CacheWrite: openaiapi.Tokens(input["cache_write_tokens"]),
		Reasoning: openaiapi.Tokens(output["reasoning_tokens"]),
	}
	u.Output = openaiapi.Output(openaiapi.Tokens(usage["total_tokens"]), u.Input, openaiapi.Tokens(usage["output_tokens"]), u.Reasoning)
	return u, openaiapi.Cost(usage, header)
}

// charged reports whether an answer says that it was paid for.
func charged(usage json.RawMessage, header http.Header) bool {
	u, cost := readUsage(usage, header)
	return u != vocab.Usage{} || cost != nil && *cost > 0
}

// verdict returns the HTTP status that the error of an answer would have had as a
// refusal, and the error in that form.
func verdict(raw json.RawMessage) (status int, body []byte) {
	members := endpoint.Members(raw)
	if members == nil {
		members = map[string]json.RawMessage{"message": raw}
	}
	var code, kind string
	_ = json.Unmarshal(members["code"], &code)
	_ = json.Unmarshal(members["type"], &kind)
	if status = int(openaiapi.Tokens(members["code"])); status < 400 || status >= 600 { // vLLM has the status there
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
