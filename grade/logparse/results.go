package logparse

import (
	"errors"
	"iter"
	"strings"
)

// results collects a parser's results like a Python dict: a later status of a name replaces the
// earlier one, and the name keeps its first place.
type results struct {
	statuses Statuses
	order    []string
	room     int // number of bytes that names may still take
	err      error
}

// A name can be longer than its line, since some names include the suite's. One hostile suite name
// of megabytes before thousands of tests would take all memory; the names in real logs are shorter
// than the log.
const (
	nameBytesPerLogByte = 16
	nameBytesAnyway     = 64 << 20
)

var errNames = errors.New("the tests' names are much longer than the log itself")

func newResults(logBytes int) *results {
	return &results{statuses: Statuses{}, room: nameBytesAnyway + nameBytesPerLogByte*logBytes}
}

// set records a status.
func (r *results) set(name, status string) {
	before := len(r.statuses)
	r.statuses[name] = status
	if len(r.statuses) > before {
		r.order = append(r.order, name)
	}
}

// setFirst records a status unless the name already has one.
func (r *results) setFirst(name, status string) {
	if _, known := r.statuses[name]; !known {
		r.set(name, status)
	}
}

// setPass records a status, but a pass does not replace another status.
func (r *results) setPass(name, status string) {
	if status == Passed {
		r.setFirst(name, status)
	} else {
		r.set(name, status)
	}
}

// setJoined records a status for a name that consists of several parts.
func (r *results) setJoined(status string, parts ...string) {
	if name, ok := r.join(parts...); ok {
		r.set(name, status)
	}
}

// join must be used for every name that the parser builds and that could be longer than its
// line.
func (r *results) join(parts ...string) (name string, ok bool) {
	for _, p := range parts {
		r.room -= len(p)
	}
	if r.room < 0 {
		r.err = errNames
		return "", false
	}
	return strings.Join(parts, ""), true
}

// lines yields the lines of text until r has an error.
func (r *results) lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for r.err == nil {
			i := strings.IndexByte(text, '\n')
			if i < 0 {
				yield(text)
				return
			}
			if !yield(text[:i]) {
				return
			}
			text = text[i+1:]
		}
	}
}
