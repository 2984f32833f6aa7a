package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/internal/sse"
)

// readStream reads a streamed answer into the form of one without streaming.
func (m *Model) readStream(answer *http.Response) (*llm.Response, error) {
	var all collected
	events := sse.NewReader(answer.Body)
	for event := range events.All() {
		if err := m.take(&all, event.Data, answer.Header); err != nil {
			return nil, err
		}
	}
	if err := events.Err(); err != nil {
		return nil, err
	}
	body, err := all.whole()
	if err != nil {
		return nil, fault.New(fault.Transient, m.At.Op(), err)
	}
	return m.response(body, answer.Header)
}

// take adds an event to what came before it.
func (m *Model) take(all *collected, data []byte, header http.Header) error {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &members); err != nil {
		return m.At.Garbled("an event of the answer is not of the Gemini API", err)
	}
	switch {
	case !endpoint.IsSet(members["error"]):
	case all.members == nil:
		return m.At.RefusedInside(header, data)
	default:
		return m.At.Broke(header, data)
	}
	all.add(members)
	return nil
}

// collected is the part of a streamed answer that has arrived. The last value of each member counts, except
// for the parts, which are put together.
type collected struct {
	members, candidate, content map[string]json.RawMessage
	parts                       []json.RawMessage
	text                        *run
}

// run is text of one kind that came in pieces.
type run struct {
	thought bool
	text    strings.Builder
}

func (c *collected) add(members map[string]json.RawMessage) {
	if c.members == nil {
		c.members, c.candidate, c.content = map[string]json.RawMessage{}, map[string]json.RawMessage{}, map[string]json.RawMessage{}
	}
	update(c.members, members)
	candidates := endpoint.List(members["candidates"])
	if len(candidates) == 0 {
		return
	}
	first := endpoint.Members(candidates[0])
	update(c.candidate, first)
	content := endpoint.Members(first["content"])
	update(c.content, content)
	parts := endpoint.List(content["parts"])
	if content == nil {
		parts = endpoint.List(first["content"])
	}
	for _, p := range parts {
		c.addPart(p)
	}
}

func update(all, members map[string]json.RawMessage) {
	for name, value := range members {
		if endpoint.IsSet(value) || all[name] == nil {
			all[name] = value
		}
	}
}

// addPart appends a part. A part with only text continues the text before it; a part with other members, such
// as a signature, stays unchanged.
func (c *collected) addPart(raw json.RawMessage) {
	members := endpoint.Members(raw)
	var text string
	thought := endpoint.IsSet(members["thought"])
	plain := json.Unmarshal(members["text"], &text) == nil && (len(members) == 1 || len(members) == 2 && thought)
	if !plain {
		c.flush()
		c.parts = append(c.parts, raw)
		return
	}
	if c.text == nil || c.text.thought != thought {
		c.flush()
		c.text = &run{thought: thought}
	}
	c.text.text.WriteString(text)
}

// flush makes a part of the text so far.
func (c *collected) flush() {
	if c.text == nil {
		return
	}
	w := struct {
		Text    string `json:"text"`
		Thought bool   `json:"thought,omitempty"`
	}{c.text.text.String(), c.text.thought}
	c.parts, c.text = append(c.parts, history.MustEncode(w)), nil
}

// whole returns the answer in the form of one without streaming.
func (c *collected) whole() ([]byte, error) {
	blocked := endpoint.IsSet(endpoint.Members(c.members["promptFeedback"])["blockReason"])
	if !endpoint.IsSet(c.candidate["finishReason"]) && !blocked {
		return nil, errors.New("the answer broke off: the stream ended before it was complete")
	}
	c.flush()
	if len(c.candidate) > 0 {
		if len(c.parts) > 0 {
			c.content["parts"] = history.MustEncode(c.parts)
		}
		c.candidate["content"] = history.MustEncode(c.content)
		c.members["candidates"] = history.MustEncode([]any{c.candidate})
	}
	whole, err := history.Encode(c.members)
	if err != nil {
		return nil, fmt.Errorf("putting the answer together: %w", err)
	}
	return whole, nil
}
