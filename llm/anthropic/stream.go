package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/sse"
)

// Types of events. Others, such as ping, have no part of the answer.
const (
	eventMessageStart = "message_start"
	eventBlockStart   = "content_block_start"
	eventBlockDelta   = "content_block_delta"
	eventMessageDelta = "message_delta"
	eventMessageStop  = "message_stop"
	eventError        = "error"
)

// event holds the members of events that this package uses.
type event struct {
	Type    string          `json:"type"`
	Index   json.RawMessage `json:"index"`
	Message json.RawMessage `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   json.RawMessage `json:"delta"`
	Error   json.RawMessage `json:"error"`
}

// readStream reads a streamed answer as if the API had written it at once.
func (m *Model) readStream(answer *http.Response) (*llm.Response, error) {
	events := sse.NewReader(answer.Body)
	var s stream
	for next := range events.All() {
		data := next.Data
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, m.At.Garbled("an event of the stream is not JSON", err)
		}
		failed := e.Type == eventError || endpoint.IsSet(e.Error) // a proxy's own errors have no type
		switch {
		case failed && s.message == nil:
			return nil, m.At.RefusedInside(answer.Header, data)
		case failed:
			return nil, m.At.Broke(answer.Header, data)
		}
		if err := s.add(e, data); err != nil {
			return nil, m.At.Garbled("the stream is not one of the API", err)
		}
		switch {
		case s.stopped && !endpoint.IsSet(s.message["stop_reason"]): // a gateway ends a stream so if its server fails
			return nil, fault.Newf(fault.Transient, "%s: the stream ended without a stop_reason", m.At.Op())
		case s.stopped:
			return m.response(s.whole(), answer.Header)
		}
	}
	switch {
	case events.Err() != nil:
		return nil, events.Err()
	case s.message == nil:
		return nil, m.At.Garbled("the stream has no message", nil)
	}
	return nil, fault.New(fault.Transient, m.At.Op(), fmt.Errorf("the stream ended before the answer did: %w", io.ErrUnexpectedEOF))
}

// stream collects the events of an answer, unknown members included. Its time is linear in their length.
type stream struct {
	message map[string]json.RawMessage
	usage   map[string]json.RawMessage
	blocks  []*growing
	stopped bool
}

func (s *stream) add(e event, data []byte) error {
	if e.Type != eventMessageStart && s.message == nil {
		return nil
	}
	switch e.Type {
	case eventMessageStart:
		if s.message != nil {
			return errors.New("a second message starts")
		}
		if s.message = endpoint.Members(e.Message); s.message == nil {
			return errors.New("the message is not an object")
		}
		s.usage = endpoint.Members(s.message["usage"])
	case eventBlockStart:
		members := endpoint.Members(e.Block)
		if index := endpoint.Word(e.Index); index != "" && index != strconv.Itoa(len(s.blocks)) || members == nil {
			return errors.New("a block starts that is not the next one")
		}
		s.blocks = append(s.blocks, &growing{members: members})
	case eventBlockDelta:
		index, err := strconv.Atoi(cmp.Or(endpoint.Word(e.Index), strconv.Itoa(len(s.blocks)-1)))
		if err != nil || index < 0 || index >= len(s.blocks) {
			return errors.New("a delta belongs to no block")
		}
		return s.blocks[index].add(e.Delta)
	case eventMessageDelta:
		s.change(data)
	case eventMessageStop:
		s.stopped = true
	}
	return nil
}

// change applies an event at the end of a message: the members of its delta and of the event itself. Counts in
// usage are totals of the message. A count from the start stays if a server repeats it as 0. Null is ignored.
func (s *stream) change(data []byte) {
	members := endpoint.Members(data)
	if s.usage == nil {
		s.usage = map[string]json.RawMessage{}
	}
	usage := endpoint.Members(members["usage"])
	maps.DeleteFunc(usage, func(name string, value json.RawMessage) bool {
		return string(value) == "0" && s.usage[name] != nil
	})
	set(s.usage, usage)
	set(s.message, endpoint.Members(members["delta"]))
	for _, name := range []string{"type", "delta", "usage"} {
		delete(members, name)
	}
	set(s.message, members)
}

func set(members, more map[string]json.RawMessage) {
	for name, value := range more {
		if string(value) != "null" {
			members[name] = value
		}
	}
}

// whole returns the message as JSON.
func (s *stream) whole() []byte {
	list := make([][]byte, len(s.blocks))
	for i, b := range s.blocks {
		list[i] = write(b.whole())
	}
	s.message["content"] = array(list)
	if s.usage != nil {
		s.message["usage"] = write(s.usage)
	}
	return write(s.message)
}

// growing is an incomplete content block.
type growing struct {
	members map[string]json.RawMessage
	texts   map[string][]byte // members that are strings, as JSON without the quotes
	lists   map[string][][]byte
}

// partialInput is the delta's member with a piece of a tool's input: JSON in a string.
const partialInput = "partial_json"

// add applies a delta: its strings are appended to the strings with the same names, and its other members
// replace earlier ones. Citations have a form of their own.
func (g *growing) add(delta json.RawMessage) error {
	members := endpoint.Members(delta)
	if members == nil {
		return errors.New("a delta is not an object")
	}
	kind, _ := word(members["type"])
	delete(members, "type")
	if _, ok := word(members[partialInput]); kind == "input_json_delta" && !ok {
		return errors.New("a piece of input is not a string")
	}
	if citation := members["citation"]; kind == "citations_delta" && citation != nil {
		g.append("citations", citation)
		delete(members, "citation")
	}
	for name, value := range members {
		switch {
		case value[0] == '"':
			g.extend(name, value)
		case string(value) != "null":
			delete(g.texts, name)
			g.members[name] = value
		}
	}
	return nil
}

func (g *growing) extend(name string, more json.RawMessage) {
	if g.texts == nil {
		g.texts = map[string][]byte{}
	}
	text, ok := g.texts[name]
	if first := g.members[name]; !ok && len(first) > 2 && first[0] == '"' {
		text = append(text, first[1:len(first)-1]...)
	}
	g.texts[name] = append(text, more[1:len(more)-1]...)
}

func (g *growing) append(name string, item json.RawMessage) {
	if g.lists == nil {
		g.lists = map[string][][]byte{}
	}
	if _, ok := g.lists[name]; !ok {
		var first []json.RawMessage
		_ = json.Unmarshal(g.members[name], &first) // null, mostly
		for _, item := range first {
			g.lists[name] = append(g.lists[name], item)
		}
	}
	g.lists[name] = append(g.lists[name], item)
}

// whole returns the members of the complete block.
func (g *growing) whole() map[string]json.RawMessage {
	all := maps.Clone(g.members)
	for name, text := range g.texts {
		all[name] = append(append([]byte{'"'}, text...), '"')
	}
	for name, list := range g.lists {
		all[name] = array(list)
	}
	if text, _ := word(all[partialInput]); strings.TrimSpace(text) != "" {
		all["input"] = input(text)
	}
	delete(all, partialInput)
	return all
}
