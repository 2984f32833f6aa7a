package endpoint

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/llm"
)

// A reply is paid for: one odd type in it must not discard it and cause another request. These functions read
// the meaning of an answer, whatever types it has.

// Word returns a member as text: a string's content, "" for null, false or an absent member, and the JSON of
// any other value.
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

// Plain returns the part for a plain text, which some servers write instead of an object; nil if it is empty.
func Plain(raw json.RawMessage) llm.Part {
	if text := Word(raw); text != "" {
		return llm.Text{Text: text}
	}
	return nil
}

// List returns the elements of a list, or any other value as the only element; nil if there is no value.
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

// IsError reports whether an answer's error member reports an error. Some servers send an empty one with
// every reply.
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

// Amount reads a finite number that is not negative, with or without quotes.
func Amount(raw json.RawMessage) (float64, bool) {
	if len(raw) == 0 {
		return 0, false
	}
	n, err := strconv.ParseFloat(Word(raw), 64)
	return n, err == nil && n >= 0 && !math.IsInf(n, 0)
}

// Tokens reads a number of tokens; 0 if it is not one.
func Tokens(raw json.RawMessage) int64 {
	n, ok := Amount(raw)
	if !ok || n > math.MaxInt32 {
		return 0
	}
	return int64(n)
}

// mostPerCall is far above the cost of any call, in US dollars, and small enough that no sum overflows.
const mostPerCall = 1e6
