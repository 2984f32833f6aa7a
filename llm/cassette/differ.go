package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxShown bounds how much of a difference is shown, in bytes.
const maxShown = 80

// conversations are the names of a request's member with the conversation.
var conversations = []string{"messages", "contents", "input"}

// difference describes how a request differs from the recorded one.
func difference(recorded, sent []byte) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(recorded, &a) != nil || json.Unmarshal(sent, &b) != nil {
		return "at " + around(recorded, sent)
	}
	for _, name := range conversations {
		var was, is []json.RawMessage
		if json.Unmarshal(a[name], &was) != nil || json.Unmarshal(b[name], &is) != nil {
			continue
		}
		for i := range min(len(was), len(is)) {
			if !bytes.Equal(canonical(was[i]), canonical(is[i])) {
				return fmt.Sprintf("message %d, at %s", i+1, around(was[i], is[i]))
			}
		}
		if len(was) != len(is) {
			return fmt.Sprintf("it has %d messages, recorded are %d", len(is), len(was))
		}
	}
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !bytes.Equal(canonical(a[name]), canonical(b[name])) {
			return name + " is " + around(a[name], b[name])
		}
	}
	return "at " + around(recorded, sent)
}

// around shows where two texts begin to differ.
func around(recorded, sent []byte) string {
	i := 0
	for i < min(len(recorded), len(sent)) && recorded[i] == sent[i] {
		i++
	}
	from := max(0, i-maxShown/2)
	return shown(sent[from:]) + ", recorded is " + shown(recorded[from:])
}

// shown returns the beginning of a text, whose secrets are hidden already.
func shown(text []byte) string {
	more := ""
	switch {
	case len(text) == 0:
		return "nothing"
	case len(text) > maxShown:
		text, more = text[:maxShown], "..."
	}
	return fmt.Sprintf("%#q", strings.ToValidUTF8(string(text), "")+more)
}
