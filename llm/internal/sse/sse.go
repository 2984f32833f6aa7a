// Package sse reads a stream of server-sent events, as models write their answers. It tolerates common
// mistakes of servers: a byte order mark, and a last event without an empty line after it.
package sse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
)

// Event is an event of a stream.
type Event struct {
	Type string // from its "event" line; empty if there is none
	Data []byte // its "data" lines, joined by line breaks
}

// Reader reads events. It does not bound their length: the reader below should.
type Reader struct {
	lines   *bufio.Reader
	started bool
	end     error
}

// NewReader returns a reader of the events in r.
func NewReader(r io.Reader) *Reader { return &Reader{lines: bufio.NewReaderSize(r, 32<<10)} }

// done is the end mark of some protocols, the only event that is not JSON.
var done = []byte("[DONE]")

// IsEnd reports whether an event is the end mark.
func (e Event) IsEnd() bool { return bytes.HasPrefix(bytes.TrimSpace(e.Data), done) }

// All returns the events with data, which the caller may keep and change. An event that the end of the stream
// truncates is left out.
func (r *Reader) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			event, err := r.next()
			if err != nil || !yield(event) {
				return
			}
		}
	}
}

// Err returns the error that ended the stream early, or nil.
func (r *Reader) Err() error {
	if r.end == io.EOF {
		return nil
	}
	return r.end
}

func (r *Reader) next() (Event, error) {
	var e Event
	for r.end == nil {
		line, err := r.lines.ReadBytes('\n')
		r.end = err
		if !r.started {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
			r.started = true
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && err == nil && len(bytes.TrimSpace(e.Data)) > 0:
			return e, nil
		case len(line) == 0 && err == nil:
			e = Event{}
		case string(name) == "event":
			e.Type = string(value)
		case string(name) == "data" && e.Data == nil:
			e.Data = value
		case string(name) == "data":
			e.Data = append(append(e.Data, '\n'), value...)
		}
	}
	if r.end == io.EOF && (json.Valid(e.Data) || bytes.Equal(bytes.TrimSpace(e.Data), done)) {
		return e, nil
	}
	return Event{}, r.end
}
