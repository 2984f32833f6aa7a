package llm

import (
	"encoding/json"
	"slices"
)

// WithToolCallIDs returns m with new ids, one for each tool call in order. It also replaces them in the
// provider's object, including references to a call (reasoning that belongs to it). A provider's message that
// is not an object is dropped.
func (m Message) WithToolCallIDs(ids []string) Message {
	renamed := map[string]string{} // an id shared by several calls belongs to the first
	var calls []ToolCall
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		c, ok := p.(ToolCall)
		if !ok {
			continue
		}
		id := ids[len(calls)]
		if _, ok := renamed[c.ID]; !ok && c.ID != "" {
			renamed[c.ID] = id
		}
		c.ID = id
		m.Parts[i], calls = c, append(calls, c)
	}
	var members map[string]json.RawMessage
	if m.Chat == nil || json.Unmarshal(m.Chat, &members) != nil || members == nil {
		m.Chat = nil
		return m
	}
	members["tool_calls"] = rawCalls(members["tool_calls"], calls)
	if details, ok := members["reasoning_details"]; ok {
		members["reasoning_details"] = rawDetails(details, renamed)
	}
	m.Chat = mustEncode(members)
	return m
}

// rawCalls returns the provider's tool calls with the ids of calls.
func rawCalls(raw json.RawMessage, calls []ToolCall) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) != len(calls) {
		wire := make([]wireToolCall, len(calls))
		for i, c := range calls {
			wire[i] = toWire(c)
		}
		return mustEncode(wire)
	}
	for i, c := range calls {
		if list[i] == nil {
			list[i] = map[string]json.RawMessage{}
		}
		list[i]["id"] = mustEncode(c.ID)
	}
	return mustEncode(list)
}

// rawDetails returns OpenRouter's reasoning_details with the new ids of their calls.
func rawDetails(raw json.RawMessage, renamed map[string]string) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return raw
	}
	for i, item := range list {
		var members map[string]json.RawMessage
		var id string
		if json.Unmarshal(item, &members) != nil || json.Unmarshal(members["id"], &id) != nil {
			continue
		}
		if name, ok := renamed[id]; ok {
			members["id"] = mustEncode(name)
			list[i] = mustEncode(members)
		}
	}
	return mustEncode(list)
}

// mustEncode is encode for values that cannot fail: text, and values that were just decoded.
func mustEncode(v any) json.RawMessage {
	data, err := encode(v)
	if err != nil {
		panic(err)
	}
	return data
}
