package solver

import (
	"encoding/json"

	"batch.example/batch/llm"
)

// rawMessages are messages as they stand in a trajectory.
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
		// A provider's message that is not an object: keep what was understood of it.
		m.Chat = nil
		raw, _ = m.MarshalJSON()
	}
	return raw
}
