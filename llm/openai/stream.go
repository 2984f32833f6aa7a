package openai

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/internal/sse"
)

// stream reads an answer piece by piece, and then like one without streaming.
func (m *Model) stream(answer *http.Response) (*llm.Response, error) {
	events, all := sse.NewReader(answer.Body), &assembly{}
	some, marked := false, false
	for e := range events.All() {
		if marked = e.IsEnd(); marked {
			break
		}
		var c chunk
		if err := json.Unmarshal(e.Data, &c.members); err != nil {
			return nil, m.At.Soiled(some, "a piece of the answer is not an object", err)
		}
		if c.read(); endpoint.IsError(c.err) {
			if !some {
				return nil, m.At.RefusedInside(answer.Header, wrap(c.err))
			}
			return nil, m.At.Broke(answer.Header, wrap(c.err))
		}
		some = true
		all.add(&c)
	}
	switch {
	case events.Err() != nil:
		return nil, events.Err()
	case !some:
		return nil, m.At.Garbled("the answer is not a stream of chat completions", nil)
	case !all.ended(marked):
		return nil, fault.Newf(fault.Transient, "%s: the stream ended before the answer was complete", m.At.Op())
	}
	whole, err := all.completion()
	if err != nil {
		return nil, m.At.Garbled("the answer cannot be put together", err)
	}
	return m.response(whole, answer.Header)
}

func wrap(err json.RawMessage) []byte { return []byte(`{"error":` + string(err) + `}`) }

// chunk is a piece of a streamed chat completion. Its delta and choice are those of the first choice, its
// members are all others.
type chunk struct {
	members, choice, delta map[string]json.RawMessage
	whole                  bool // the delta is the whole message, as at the end of MiniMax's streams
	err                    json.RawMessage
}

// read sorts the members.
func (c *chunk) read() {
	c.err = endpoint.Failure(c.members)
	choices := endpoint.List(c.members["choices"])
	delete(c.members, "choices")
	for _, raw := range choices {
		choice := endpoint.Members(raw)
		if index := endpoint.Word(choice["index"]); choice == nil || index != "" && index != "0" && index != "null" {
			continue
		}
		if c.choice = choice; endpoint.IsError(choice["error"]) {
			c.err = choice["error"]
		}
		c.delta = endpoint.Members(choice["delta"])
		if c.delta == nil {
			c.delta = endpoint.Members(choice["message"])
			c.whole = c.delta != nil
		}
		delete(choice, "delta")
		delete(choice, "message")
		return
	}
}

// assembly is a chat completion assembled from pieces, in time linear in their length. It keeps unknown
// members.
type assembly struct {
	members map[string]json.RawMessage // members of the completion, with their last values
	choice  object
	message object
	calls   calls
	details details
}

func (a *assembly) add(c *chunk) {
	a.members = latest(a.members, c.members)
	a.choice.add(c.choice, false)
	if c.whole {
		a.forget(c.delta)
	}
	a.calls.add(c.delta["tool_calls"])
	a.details.add(c.delta["reasoning_details"])
	delete(c.delta, "tool_calls")
	delete(c.delta, "reasoning_details")
	a.message.add(c.delta, true)
}

// forget removes the collected values of members that have a value here.
func (a *assembly) forget(members map[string]json.RawMessage) {
	for name, value := range members {
		switch {
		case !endpoint.IsSet(value):
		case name == "tool_calls":
			a.calls = calls{}
		case name == "reasoning_details":
			a.details = details{}
		default:
			delete(a.message.texts, name)
			delete(a.message.lists, name)
			delete(a.message.objects, name)
		}
	}
}

// ended reports whether the answer has the content of its last pieces: the finish reason and the usage. A
// server may omit the end mark, or one of the two. A gateway sends the mark without either of them if the
// server behind it fails.
func (a *assembly) ended(marked bool) bool {
	word := endpoint.IsSet(a.choice.values["finish_reason"])
	used := endpoint.IsSet(a.members["usage"]) || a.choice.objects["usage"] != nil
	return word && used || marked && (word || used)
}

// completion returns the answer in the form of one without streaming.
func (a *assembly) completion() ([]byte, error) {
	message := a.message.members()
	if list := a.calls.members(); list != nil {
		message["tool_calls"] = list
	}
	if len(a.details.list) > 0 {
		list := make([]any, len(a.details.list))
		for i := range a.details.list {
			list[i] = a.details.list[i].members()
		}
		message["reasoning_details"] = list
	}
	if _, ok := message["content"]; !ok {
		message["content"] = nil
	}
	choice := a.choice.members()
	choice["index"], choice["message"] = 0, message
	whole := map[string]any{}
	for name, value := range a.members {
		whole[name] = value
	}
	whole["object"], whole["choices"] = "chat.completion", []any{choice}
	return history.Encode(whole)
}

// latest adds the members of more that have a value to members.
func latest(members, more map[string]json.RawMessage) map[string]json.RawMessage {
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	for name, value := range more {
		if _, ok := members[name]; !ok || string(value) != "null" {
			members[name] = value
		}
	}
	return members
}

// object is assembled from pieces: texts and lists are appended, objects are assembled recursively, and of
// other values the last counts.
type object struct {
	texts   map[string]*strings.Builder
	lists   map[string][]json.RawMessage
	objects map[string]*object
	values  map[string]json.RawMessage
}

// whole lists members whose text never comes in pieces. In objects within a message, only the text of growing
// ones does.
var (
	whole   = map[string]bool{"role": true, "id": true, "type": true, "name": true}
	growing = map[string]bool{"arguments": true, "text": true, "summary": true, "data": true, "transcript": true, "content": true, "thinking": true}
)

// add adds members; top says that they belong to the message itself.
func (o *object) add(members map[string]json.RawMessage, top bool) {
	for name, raw := range members {
		switch {
		case len(raw) == 0:
		case raw[0] == '"' && (top && !whole[name] || growing[name]):
			var text string
			_ = json.Unmarshal(raw, &text) // valid: it was decoded before
			o.grow(name, text)
		case raw[0] == '"' && raw[1] == '"' && o.values[name] != nil: // an empty text adds nothing
		case raw[0] == '[':
			var list []json.RawMessage
			_ = json.Unmarshal(raw, &list)
			if o.lists == nil {
				o.lists = map[string][]json.RawMessage{}
			}
			o.lists[name] = append(o.lists[name], list...)
		case raw[0] == '{':
			if o.objects == nil {
				o.objects = map[string]*object{}
			}
			if o.objects[name] == nil {
				o.objects[name] = &object{}
			}
			o.objects[name].add(endpoint.Members(raw), false)
		default:
			o.values = latest(o.values, map[string]json.RawMessage{name: raw})
		}
	}
}

func (o *object) grow(name, text string) {
	if o.texts == nil {
		o.texts = map[string]*strings.Builder{}
	}
	if o.texts[name] == nil {
		o.texts[name] = &strings.Builder{}
	}
	o.texts[name].WriteString(text)
}

// members returns the assembled members. If the values of a member have several kinds, text comes before
// lists, lists before objects, and objects before all else.
func (o *object) members() map[string]any {
	all := map[string]any{}
	for name, value := range o.values {
		all[name] = value
	}
	for name, value := range o.objects {
		all[name] = value.members()
	}
	for name, value := range o.lists {
		all[name] = value
	}
	for name, value := range o.texts {
		all[name] = value.String()
	}
	return all
}

// calls are tool calls, assembled by their index.
type calls struct {
	list []*object
	at   map[int]*object // the last one with an index
}

func (c *calls) add(raw json.RawMessage) {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list)
	for _, raw := range list {
		members := endpoint.Members(raw)
		if members == nil {
			continue
		}
		call := c.of(members)
		delete(members, "index")
		call.add(members, false)
	}
}

// of returns the call that a piece belongs to. Some servers send whole calls without an index, or all with
// the same one; others send a new id in each piece of a call. Only a call's first piece has its name.
func (c *calls) of(members map[string]json.RawMessage) *object {
	index, err := strconv.Atoi(endpoint.Word(members["index"]))
	if err != nil || index < 0 {
		index = max(0, len(c.list)-1)
	}
	call, known := c.at[index]
	named := endpoint.IsSet(endpoint.Members(members["function"])["name"])
	id := members["id"]
	if known && !(named && endpoint.IsSet(id) && string(call.values["id"]) != string(id)) {
		if endpoint.IsSet(call.values["id"]) {
			delete(members, "id") // the first one counts
		}
		return call
	}
	call = &object{}
	if c.at == nil {
		c.at = map[int]*object{}
	}
	if known && err != nil {
		index = len(c.list)
	}
	c.at[index] = call
	c.list = append(c.list, call)
	return call
}

func (c *calls) members() (list []any) {
	for _, call := range c.list {
		members := call.members()
		if _, ok := members["type"]; !ok {
			members["type"] = "function"
		}
		list = append(list, members)
	}
	return list
}

// details are OpenRouter's reasoning_details: consecutive pieces with the same type and index are one.
// Encrypted ones never come in pieces.
type details struct {
	list []*object
}

func (d *details) add(raw json.RawMessage) {
	var list []map[string]json.RawMessage
	_ = json.Unmarshal(raw, &list)
	for _, members := range list {
		if last := len(d.list) - 1; last >= 0 && continues(d.list[last], members) {
			d.list[last].add(members, false)
			continue
		}
		o := &object{}
		o.add(members, false)
		d.list = append(d.list, o)
	}
}

func continues(last *object, members map[string]json.RawMessage) bool {
	if _, encrypted := members["data"]; encrypted || !endpoint.IsSet(members["index"]) {
		return false
	}
	id := members["id"]
	return string(last.values["type"]) == string(members["type"]) && string(last.values["index"]) == string(members["index"]) &&
		(!endpoint.IsSet(id) || !endpoint.IsSet(last.values["id"]) || string(last.values["id"]) == string(id))
}
