package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/openaiapi"
)

// completion holds the members we need of a chat completion. The SDK's own
// type is stricter than the servers that claim to be compatible.
type completion struct {
	Model   string `json:"model"`
	Service any    `json:"service_tier"` // a string
	Choices []struct {
		FinishReason string          `json:"finish_reason"`
		Message      json.RawMessage `json:"message"`
		Usage        json.RawMessage `json:"usage"` // Moonshot streams it here
		Error        json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (m *Model) response(body []byte, header http.Header) (*llm.Response, error) {
	body = endpoint.Text(body)
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, m.garbled("the answer is not a chat completion", err)
	}
	if endpoint.IsSet(c.Error) {
		return nil, m.at.RefusedInside(header, body)
	}
	if len(c.Choices) == 0 {
		return nil, m.garbled("the answer has no choices", nil)
	}
	choice := c.Choices[0]
	if endpoint.IsSet(choice.Error) {
		return nil, m.at.Broke(header, wrap(choice.Error))
	}
	if !endpoint.IsSet(choice.Message) && (&llm.Response{FinishReason: choice.FinishReason}).Filtered() {
		choice.Message = json.RawMessage(`{"content":null}`) // Gemini leaves it out
	}
	msg, err := readMessage(choice.Message)
	if err != nil {
		return nil, fault.Newf(fault.Transient, "%s: the answer has no message: %s", m.at.Op(), m.at.Mask.Text(err.Error()))
	}
	if !endpoint.IsSet(c.Usage) {
		c.Usage = choice.Usage
	}
	usage, cost := readUsage(c.Usage, header)
	resp := &llm.Response{
		Message:      msg,
		FinishReason: choice.FinishReason,
		Usage:        usage,
		Model:        cmp.Or(c.Model, m.at.Model),
		Service:      openaiapi.Service(c.Service),
		Raw:          body,
	}
	m.at.Price(resp, cost)
	return resp, nil
}

// readMessage keeps the provider's object, and adds the role where it is missing.
func readMessage(raw json.RawMessage) (llm.Message, error) {
	if msg, err := llm.AsWritten(raw); err == nil && msg.Role == llm.RoleAssistant {
		msg.Chat, msg.Extra = bytes.Clone(raw), nil
		return msg, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return llm.Message{}, err
	}
	if members == nil {
		return llm.Message{}, fmt.Errorf("it is null")
	}
	if string(members["role"]) != `"assistant"` {
		members["role"] = json.RawMessage(`"assistant"`)
		fixed, err := json.Marshal(members)
		if err != nil {
			return llm.Message{}, err
		}
		raw = fixed
	}
	msg, err := llm.AsWritten(raw)
	msg.Chat, msg.Extra = bytes.Clone(raw), nil
	return msg, err
}

// garbled is the fault of an answer that a chat endpoint would not give.
func (m *Model) garbled(what string, err error) error {
	return m.at.NoReply(what, err, "is an OpenAI-compatible endpoint; it usually ends in /v1")
}
