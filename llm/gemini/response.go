package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/vocab"
)

// answer holds the members of a GenerateContentResponse that this package uses.
type answer struct {
	Candidates json.RawMessage `json:"candidates"`
	Feedback   json.RawMessage `json:"promptFeedback"`
	Usage      json.RawMessage `json:"usageMetadata"`
	Model      json.RawMessage `json:"modelVersion"`
	Error      json.RawMessage `json:"error"`
}

type candidate struct {
	Content       json.RawMessage `json:"content"`
	FinishReason  json.RawMessage `json:"finishReason"`
	FinishMessage json.RawMessage `json:"finishMessage"`
}

// parts returns the content's parts. Some servers write the list without an object around it.
func (c candidate) parts() []json.RawMessage {
	if members := endpoint.Members(c.Content); members != nil {
		return endpoint.List(members["parts"])
	}
	return endpoint.List(c.Content)
}

// response reads an answer. A wrong reply of the model stays part of the answer: it is paid for, and the
// model must read it.
func (m *Model) response(body []byte, header http.Header) (*llm.Response, error) {
	body = endpoint.Text(body)
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, m.At.Garbled("the answer is not of the Gemini API", err)
	}
	if endpoint.IsError(a.Error) {
		return nil, m.At.RefusedInside(header, body)
	}
	var reply candidate
	candidates := endpoint.List(a.Candidates)
	switch {
	case len(candidates) > 0 && (endpoint.Members(candidates[0]) != nil || usage(a.Usage) != vocab.Usage{}):
		_ = json.Unmarshal(candidates[0], &reply) // reply stays empty for anything but an object
	case usage(a.Usage) == vocab.Usage{}, endpoint.IsSet(endpoint.Members(a.Feedback)["blockReason"]):
		return nil, m.withoutReply(a)
	}
	msg := llm.Message{Role: llm.RoleAssistant}
	for _, raw := range reply.parts() {
		if p := readPart(raw); p != nil {
			msg.Parts = append(msg.Parts, p)
		}
	}
	if said := endpoint.Word(reply.FinishMessage); reply.malformed() && said != "" {
		// The text of the malformed call, which is only here. Without it, the model could not see its
		// mistake.
		msg.Parts = append(msg.Parts, llm.Text{Text: said})
	}
	resp := &llm.Response{
		Message:      msg,
		FinishReason: endpoint.Word(reply.FinishReason),
		Usage:        usage(a.Usage),
		Service:      service(a.Usage, header),
		Model:        cmp.Or(endpoint.Word(a.Model), m.At.Model),
		Raw:          body,
	}
	m.At.Price(resp, nil)
	return resp, nil
}

// malformed reports whether the server could not read the model's call.
func (c candidate) malformed() bool {
	switch endpoint.Word(c.FinishReason) {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
		return true
	}
	return false
}

// withoutReply returns the fault of an answer without a candidate.
func (m *Model) withoutReply(a answer) error {
	feedback := endpoint.Members(a.Feedback)
	if reason := endpoint.Word(feedback["blockReason"]); reason != "" {
		said := strings.TrimSuffix(m.At.Mask.Text(reason+": "+endpoint.Word(feedback["blockReasonMessage"])), ": ")
		return fault.New(fault.Instance, m.At.Op(), fmt.Errorf("%w: the prompt was blocked: %s", llm.ErrContentPolicy, said))
	}
	if endpoint.IsSet(a.Model) || endpoint.IsSet(a.Usage) {
		return fault.Newf(fault.Transient, "%s: the answer has no candidate", m.At.Op())
	}
	return m.At.Garbled("the answer has no candidate", nil)
}

// readPart returns a part of a reply, nil if it is empty. Its JSON is kept if it has more than text: a
// signature, or unknown members.
func readPart(raw json.RawMessage) llm.Part {
	members := endpoint.Members(raw)
	if members == nil {
		return endpoint.Plain(raw)
	}
	kept := llm.Opaque{Provider: provider, Data: compact(raw)}
	call, text := endpoint.Members(members["functionCall"]), endpoint.Word(members["text"])
	_, said := members["text"]
	switch {
	case call != nil:
		c := llm.ToolCall{ID: endpoint.Word(call["id"]), Name: endpoint.Word(call["name"]), Arguments: "{}", Opaque: kept}
		if endpoint.IsSet(call["args"]) {
			c.Arguments = compact(call["args"])
		}
		if call["args"] != nil && call["args"][0] == '"' {
			c.Arguments = endpoint.Word(call["args"])
		}
		return c
	case len(members) == 0 || !said:
		return llm.Reasoning{Opaque: kept}
	case endpoint.IsSet(members["thought"]):
		return llm.Reasoning{Text: text, Opaque: kept}
	case len(members) > 1:
		return llm.Text{Text: text, Opaque: kept}
	case text == "":
		return nil
	}
	return llm.Text{Text: text}
}

// usage adds up counts that the protocol keeps apart: text that a server's tools put into the prompt is
// input, and thoughts are output.
func usage(raw json.RawMessage) vocab.Usage {
	var u struct {
		Prompt, Cached, ToolUse, Candidates, Thoughts int64
	}
	members := endpoint.Members(raw)
	for name, into := range map[string]*int64{
		"promptTokenCount": &u.Prompt, "cachedContentTokenCount": &u.Cached, "toolUsePromptTokenCount": &u.ToolUse,
		"candidatesTokenCount": &u.Candidates, "thoughtsTokenCount": &u.Thoughts,
	} {
		*into = endpoint.Tokens(members[name])
	}
	return vocab.Usage{
		Input: u.Prompt + u.ToolUse, Cached: u.Cached,
		Output: u.Candidates + u.Thoughts, Reasoning: u.Thoughts,
	}
}

// service returns the service tier that answered, which may differ from the requested one: the API reports it
// in the usage or in a header, Vertex AI as the type of traffic.
func service(raw json.RawMessage, header http.Header) string {
	var said struct {
		Tier    string `json:"serviceTier"`
		Traffic string `json:"trafficType"`
	}
	_ = json.Unmarshal(raw, &said) // another value is ignored, because the answer is paid for
	return cmp.Or(said.Tier, header.Get("X-Gemini-Service-Tier"), said.Traffic)
}
