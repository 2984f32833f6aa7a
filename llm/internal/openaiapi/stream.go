package openaiapi

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"

	"batch.example/batch/llm/internal/sse"
)

// Event is an event of a stream: a JSON object, exactly as the server wrote it.
type Event struct {
	Type string // from its "event" line; empty if there is none
	Data json.RawMessage
}

// done ends a stream of chat completions.
var done = []byte("[DONE]")

// Stream reads the events of an answer.
type Stream struct {
	events *sse.Reader
	done   bool
	err    error
}

// Events returns the events of an answer's body.
func Events(body io.Reader) *Stream { return &Stream{events: sse.NewReader(body)} }

// All returns the events up to the end mark, or to the end of the body.
func (s *Stream) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			event, err := s.events.Next()
			if err != nil {
				s.err = err
				return
			}
			data := bytes.TrimSpace(event.Data)
			if bytes.HasPrefix(data, done) {
				s.done = true
				return
			}
			if !yield(Event{event.Type, data}) {
				return
			}
		}
	}
}

// Done reports whether the end mark has come.
func (s *Stream) Done() bool { return s.done }

// Err returns the error that ended reading early, or nil.
func (s *Stream) Err() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}
