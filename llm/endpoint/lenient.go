package endpoint

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/llm"
)

// A reply is paid for: one odd type in it must not have it thrown away and asked for again. These
// functions read what an answer means, whatever type it has.

// Word returns a member as text: a string's content, nothing for null, false or an absent member,
// and the JSON of any other value.
func Word(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0, string(raw) == "null", string(raw) == "false":
		return ""
	case strings.IndexByte("\" \t\r\n", raw[0]) >= 0 && json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

// Plain returns the part that stands where an object should, as some servers write a text; nil if
// it says nothing.
func Plain(raw json.RawMessage) llm.Part {
	if text := Word(raw); text != "" {
		return llm.Text{Text: text}
	}
	return nil
}

// List returns the elements of a list, and any other value as its only element; none if
// nothing is there.
func List(raw json.RawMessage) []json.RawMessage {
	all := gjson.ParseBytes(raw)
	switch {
	case !IsSet(raw):
		return nil
	case !all.IsArray() || !json.Valid(raw):
		return []json.RawMessage{raw}
	}
	list := []json.RawMessage{}
	all.ForEach(func(_, value gjson.Result) bool {
		end := value.Index + len(value.Raw)
		list = append(list, raw[value.Index:end:end])
		return true
	})
	return list
}

// IsError reports whether a member of an answer that is about an error says anything of one. Some
// servers have an empty one beside every reply.
func IsError(raw json.RawMessage) bool {
	members := Members(raw)
	if members == nil {
		return IsSet(raw) && string(raw) != "0" && string(raw) != "[]"
	}
	for name, value := range members {
		if IsSet(value) && string(value) != "0" && string(value) != "[]" && name != "param" {
			return true
		}
	}
	return false
}

// Amount reads a number that may stand in quotes. It is finite and not negative.
func Amount(raw json.RawMessage) (float64, bool) {
	if len(raw) == 0 {
		return 0, false
	}
	n, err := strconv.ParseFloat(Word(raw), 64)
	return n, err == nil && n >= 0 && !math.IsInf(n, 0)
}

// Tokens reads a number of tokens; 0 if it is none.
func Tokens(raw json.RawMessage) int64 {
	n, ok := Amount(raw)
	if !ok || n > math.MaxInt32 {
		return 0
	}
	return int64(n)
}

// mostPerCall is far above what any call costs, in US dollars, and so low that no sum overflows.
const mostPerCall = 1e6
