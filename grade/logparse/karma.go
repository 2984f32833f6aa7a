package logparse

import (
	"fmt"
	"strings"
)

// karma reads the report of Karma's mocha reporter, from the line that reports the start of a
// browser to the summary: suites by indent, tests with a mark. It is as brittle as the reference: a
// line with a smaller indent than the previous one leaves exactly one suite, however many levels it
// goes back, and enters none.
func karma(log string, _ input, out *results) error {
	k := karmaSuites{nested: nested{separator: " > "}, indent: -1}
	started := false
	for line := range out.lines(log) {
		switch {
		case strings.HasPrefix(line, "SUMMARY:"):
			return nil
		case strings.Contains(line, "Starting browser"):
			started = true
		case started:
			if err := k.line(line, out); err != nil {
				return err
			}
		}
	}
	return nil
}

type karmaSuites struct {
	nested
	indent int
}

var karmaMarks = []mark{{"✔", Passed}, {"✖", Failed}}

// line handles ^(\s*)?([✔✖])?\s(.*)$.
func (k *karmaSuites) line(line string, out *results) error {
	rest := stripLeft(line)
	switch name, status := cutMarked(rest, karmaMarks); {
	case status != "":
		out.setJoined(status, k.prefix(), name)
		return nil
	case len(rest) == len(line):
		return nil // one white space character at least
	}
	return k.move(indentOf(line)-1, rest)
}

// move enters or leaves a suite. An indent of 0 does neither.
func (k *karmaSuites) move(indent int, name string) error {
	switch {
	case indent > k.indent && indent > 0:
		k.enter(name)
	case indent < k.indent && indent > 0:
		if len(k.starts) == 0 {
			return fmt.Errorf("the line %.60q leaves one suite more than were entered", name)
		}
		k.leave(len(k.starts) - 1)
	default:
		return nil
	}
	k.indent = indent
	return nil
}
