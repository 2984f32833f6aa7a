package openai

import (
	"encoding/json"
	"net/http"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/openaiapi"
)

// stream reads an answer piece by piece, and then like one without streaming.
func (m *Model) stream(answer *http.Response) (*llm.Response, error) {
	events, all := openaiapi.Events(answer.Body), &assembly{}
	some := false
	for e := range events.All() {
		var c chunk
		if err := json.Unmarshal(e.Data, &c.members); err != nil {
			return nil, m.soiled(some, err)
		}
		if c.read(); endpoint.IsError(c.err) {
			if !some {
				return nil, m.at.RefusedInside(answer.Header, wrap(c.err))
			}
			return nil, m.at.Broke(answer.Header, wrap(c.err))
		}
		some = true
		all.add(&c)
	}
	switch {
	case events.Err() != nil:
		return nil, events.Err()
	case !some:
		return nil, m.garbled("the answer is not a stream of chat completions", nil)
	case !all.ended(events.Done()):
		return nil, fault.Newf(fault.Transient, "%s: the stream ended before the answer was complete", m.at.Op())
	}
	whole, err := all.completion()
	if err != nil {
		return nil, m.garbled("the answer cannot be put together", err)
	}
	return m.response(whole, answer.Header)
}

// soiled returns the fault of a piece that is not an object; some says that others came before it.
func (m *Model) soiled(some bool, err error) error {
	const what = "a piece of the answer is not an object"
	if !some {
		return m.garbled(what, err)
	}
	return fault.Newf(fault.Transient, "%s: %s: %s", m.at.Op(), what, m.at.Mask.Text(err.Error()))
}

func wrap(err json.RawMessage) []byte { return []byte(`{"error":` + string(err) + `}`) }
