package responses

import (
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
)

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
	events, items := openaiapi.Events(answer.Body), map[int]json.RawMessage{}
	some, began := false, false // began: the model has written something, which is paid for
	for e := range events.All() {
		var ev event
		if err := json.Unmarshal(e.Data, &ev); err != nil {
			return nil, m.soiled(some, err)
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
		return nil, m.garbled("the answer is not a stream of events", nil)
	}
	return nil, fault.Newf(fault.Transient, "%s: the stream ended before the answer was complete", m.at.Op())
}

// soiled returns the fault of an event that is not an object; some says that others came before it.
func (m *Model) soiled(some bool, err error) error {
	const what = "an event of the answer is not an object"
	if !some {
		return m.garbled(what, err)
	}
	return fault.Newf(fault.Transient, "%s: %s: %s", m.at.Op(), what, m.at.Mask.Text(err.Error()))
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
