package logparse

import (
	"errors"
	"iter"
	"strings"
)

// results collects what a parser finds, as a Python dict does: a later status of a name
// replaces the earlier one, and the name keeps its first place.
type results struct {
	statuses Statuses
	order    []string
	room     int // how many more bytes the names may have
	err      error
}

// A name can be longer than its line, since some have the suite's before it. One hostile
// suite name of megabytes before thousands of tests would take all memory; the names of
// real logs are shorter than the log.
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

// setFirst records a status for a name without one.
func (r *results) setFirst(name, status string) {
	if _, known := r.statuses[name]; !known {
		r.set(name, status)
	}
}

// setPass records a status: what passes does not replace what is known.
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

// lines are those of text for as long as r has no error.
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
