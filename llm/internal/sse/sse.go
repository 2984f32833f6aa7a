// Package sse reads a stream of server-sent events, as models write their answers. It
// takes what servers get wrong: a byte order mark, a last event without the empty line
// behind it.
package sse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// Event is one of a stream.
type Event struct {
	Type string // as its line "event" has it; empty without one
	Data []byte // its lines "data", joined by line breaks
}

// Reader reads events. Nothing bounds how long one may be: the reader below should.
type Reader struct {
	lines   *bufio.Reader
	started bool
	end     error
}

// NewReader returns a reader of the events in r.
func NewReader(r io.Reader) *Reader { return &Reader{lines: bufio.NewReaderSize(r, 32<<10)} }

// done ends a stream in some protocols, as the only event that is not JSON.
var done = []byte("[DONE]")

// Next returns the next event that has data, which is the caller's. At the end of the
// stream its error is [io.EOF]; an event that the end has cut short is left out.
func (r *Reader) Next() (Event, error) {
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
