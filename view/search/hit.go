package search

import (
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/mask"
)

// Hit is a matching text, with the first match in it.
type Hit struct {
	Source   string `json:"source"` // the caller's name of the source
	Instance string `json:"instance"`
	Attempt  int    `json:"attempt"` // 0: another tool's attempt
	Step     int    `json:"step"`    // 0: the whole attempt
	Action   int    `json:"action,omitempty"`
	Where    Place  `json:"where"`

	Excerpt string `json:"excerpt"` // some lines around the match, without secrets
	From    int    `json:"from"`    // start of the match in Excerpt, in bytes
	To      int    `json:"to"`
}

const (
	around    = 120 // bytes before and after a match
	matchMost = 400 // bytes of a match
)

// hitIn returns the first match in a text, with its excerpt; false if the text does not match, or not while
// its secrets are hidden.
func (m *matcher) hitIn(text []byte, hide *mask.Masker) (h Hit, ok bool) {
	at := m.find(text)
	if at == nil {
		return h, false
	}
	hidden := hide.Bytes(text)
	if len(hidden) != len(text) || &hidden[0] != &text[0] {
		if at = m.find(hidden); at == nil {
			return h, false
		}
	}
	h.Excerpt, h.From, h.To = excerpt(hidden, at[0], at[1])
	return h, true
}

// excerpt returns a match with a little of the text around it.
func excerpt(text []byte, from, to int) (string, int, int) {
	begin, end := max(0, from-around), min(len(text), to+around)
	to = min(to, from+matchMost)
	end = min(end, to+around)
	for begin > 0 && begin < from && !utf8.RuneStart(text[begin]) {
		begin++
	}
	for end < len(text) && end > to && !utf8.RuneStart(text[end]) {
		end--
	}
	before, match, after := valid(text[begin:from]), valid(text[from:to]), valid(text[to:end])
	return before + match + after, len(before), len(before) + len(match)
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\ufffd") }
