package yamlpos

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/internal/lazy"
)

// effort bounds the search for a mistake, in bytes that are read again.
const effort = 4 << 20

// Mistake returns where in source the parser fails with err, and in plain words what is
// wrong there. Line and column count from 1; 0 is unknown.
//
// The parser itself gives no column, and often a line before or after the mistake. But it
// fails with the same message for the source up to the mistake as for the whole source, and
// with another message, or none, for less.
func Mistake(source string, err error) (line, column int, text string) {
	s := search{source: source, said: said(err), left: effort}
	begin, end, found := s.back(len(source), func(end int) int { return strings.LastIndexByte(source[:end-1], '\n') + 1 })
	if !found {
		_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
		return line, 0, plain(s.said, "")
	}
	line = 1 + strings.Count(source[:begin], "\n")
	last, end, found := s.back(end, func(end int) int {
		_, size := utf8.DecodeLastRuneInString(source[:end])
		return end - size
	})
	if !found {
		return line, 0, plain(s.said, "")
	}
	column = 1 + utf8.RuneCountInString(source[begin:last])
	if strings.HasPrefix(s.said, unknownAnchor) { // it has a name from its first letter on
		column--
	}
	return line, column, plain(s.said, source[last:end])
}

type search struct {
	source, said string
	left         int // of the effort
}

// back goes back from end, step by step, while the parser reports the same error for the shorter text.
// It returns the last step.
func (s *search) back(end int, step func(end int) int) (from, to int, found bool) {
	for {
		if end == 0 || s.left < 0 {
			return 0, 0, false
		}
		before := step(end)
		r := strings.NewReader(s.source[:before])
		var doc yaml.Node
		if said(yaml.NewDecoder(r).Decode(&doc)) != s.said {
			return before, end, true
		}
		s.left -= before - r.Len()
		end = before
	}
}

const unknownAnchor = "unknown anchor"

var (
	itsLine  = lazy.Regexp(`^yaml: (line \d+: )?`)
	expected = lazy.Regexp(`^(did|could) not find (the )?expected `)
)

// said returns the text of a parser error without its place and without names.
func said(err error) string {
	if err == nil {
		return ""
	}
	text := itsLine().ReplaceAllString(err.Error(), "")
	if strings.HasPrefix(text, unknownAnchor) {
		return unknownAnchor
	}
	return text
}

var plainly = map[string]string{
	"mapping values are not allowed in this context":         "':' is not expected here: check the indentation, and quote text that contains ': '",
	"block sequence entries are not allowed in this context": "'-' is not expected here: check the indentation",
	"did not find expected key":                              "expected a key: check the indentation and the quotes",
	"did not find expected '-' indicator":                    "expected '-', as the other items of the list have: check the indentation",
	"did not find expected node content":                     "expected a value",
	"did not find expected <document start>":                 "expected the end of the file: check the indentation",
	"could not find expected ':'":                            "expected ':' after a key: check the indentation",
	"found unexpected end of stream":                         "the quote is not closed",
	"found unknown escape character":                         `unknown escape sequence in double quotes: write \\ for a backslash`,
	unknownAnchor:                                            "there is no anchor of this name; quote text that begins with *",
}

// plain says in plain words what the parser said of a mistake at a character.
func plain(said, at string) string {
	switch words, ok := plainly[said]; {
	case ok:
		return words
	case strings.Contains(said, "tab character") || strings.Contains(said, "cannot start") && at == "\t":
		return "a tab is not expected here: indent with spaces"
	case strings.Contains(said, "cannot start") && at != "":
		return "text that begins with " + at + " must be quoted"
	case strings.Contains(said, "UTF-8"):
		return "this is not valid UTF-8"
	}
	return expected().ReplaceAllString(said, "expected ")
}
