package config

import (
	"cmp"
	"fmt"
	"strings"

	"batch.example/batch/agent/config/yamlpos"
)

// place is where a value was set.
type place struct {
	source string // a file, a key=value with its secrets hidden, a flag, or one of batch's own
	line   int    // of a file, from 1; 0 elsewhere
	kind   placeKind
	text   *yamlpos.Text // of a text, the source that it was read from
}

type placeKind int

const (
	inFile placeKind = iota
	inBuiltin
	inKeyValue // of -c
	inFlag     // of a single value
	inVariable // of the environment
)

// builtinSource is the source of one of batch's own configurations.
func builtinSource(name string) string { return "batch's built-in " + name }

// compare orders places by source and line.
func (p place) compare(q place) int {
	return cmp.Or(strings.Compare(p.source, q.source), p.line-q.line)
}

// String names the place in a message.
func (p place) String() string {
	switch {
	case p.kind == inKeyValue:
		return "-c " + p.source
	case p.line == 0:
		return p.source
	default:
		return fmt.Sprintf("%s:%d", p.source, p.line)
	}
}

// who names the place in a list of values.
func (p place) who() string {
	switch p.kind {
	case inBuiltin:
		return strings.TrimPrefix(p.source, "batch's ")
	case inKeyValue:
		return "-c on the command line"
	case inVariable:
		return "environment variable " + p.source
	default:
		return p.String()
	}
}

// within names the place of the byte at offset of a text.
func (p place) within(offset int) string {
	if p.text == nil {
		return p.String()
	}
	line, column := p.text.Position(offset)
	switch {
	case p.kind == inFile || p.kind == inBuiltin:
		return fmt.Sprintf("%s:%d:%d", p.source, line, column)
	case p.text.Lines() == 1:
		return fmt.Sprintf("%s, column %d", p.key(), column)
	default:
		return fmt.Sprintf("%s, line %d, column %d", p.key(), line, column)
	}
}

// key names the place without the value, which may be long.
func (p place) key() string {
	if p.kind != inKeyValue {
		return p.source
	}
	key, _, _ := strings.Cut(p.source, "=")
	return "-c " + key + "=..."
}

// byHand reports whether a person set just this value.
func (p place) byHand() bool { return p.kind == inKeyValue || p.kind == inFlag }
