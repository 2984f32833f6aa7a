package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"batch.example/batch/llm"
)

// An answer is nested some levels deep in records and trajectories, which limits its own depth.
func TestATooDeeplyNestedAnswerIsNotKept(t *testing.T) {
	deep := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	message := llm.Message{Parts: llm.Say("said")}
	for name, c := range map[string]struct {
		resp llm.Response
		want func(answer json.RawMessage) bool
	}{
		"as it came": {
			llm.Response{Raw: deep(9000)},
			func(answer json.RawMessage) bool { return len(answer) == 18000 },
		},
		"too deep": {
			llm.Response{Raw: deep(9999), Message: message},
			func(answer json.RawMessage) bool { return strings.Contains(string(answer), `"said"`) },
		},
		"its message too": {
			llm.Response{Raw: deep(9999), Message: llm.Message{Chat: json.RawMessage(`{"x":` + string(deep(9990)) + `}`)}},
			func(answer json.RawMessage) bool { return answer == nil },
		},
		"two texts": {
			llm.Response{Raw: json.RawMessage("1],[1"), Message: message},
			func(answer json.RawMessage) bool { return strings.Contains(string(answer), `"said"`) },
		},
	} {
		if answer := rawAnswer(&c.resp); !c.want(answer) {
			t.Errorf("%s: the kept answer %.100s is not the one wanted", name, answer)
		}
	}
}
