package session

import (
	"encoding/json"

	"batch.example/batch/llm"
)

// rawMessages returns messages as a trajectory stores them.
func rawMessages(messages []llm.Message) []json.RawMessage {
	list := make([]json.RawMessage, 0, len(messages))
	for _, m := range messages {
		list = append(list, rawMessage(m))
	}
	return list
}

func rawMessage(m llm.Message) json.RawMessage {
	raw, err := m.MarshalJSON() // json.Marshal would escape < and > in it
	if err != nil {
		// The provider's message is not an object: keep the parts that were understood.
		m.Chat = nil
		raw, _ = m.MarshalJSON()
	}
	return raw
}
