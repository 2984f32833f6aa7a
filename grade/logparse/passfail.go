package logparse

import (
	"iter"
	"strings"
)

var fileMarks = []mark{{"PASS", Passed}, {"FAIL", Failed}}

// passFail reads jest's lines about whole files: "PASS path (5.1 s)".
func passFail(line string, _ input, out *results) {
	if name, status := cutMarked(line, fileMarks); status != "" {
		out.set(beforeTime(name), status)
	}
}

// beforeTime returns the text before the time that it contains, or all of it without a time. (12ms)
// anywhere takes precedence over (5.1 s), which takes precedence over (5.1s). The last of several
// counts.
func beforeTime(text string) string {
	best, rank := text, len(timeUnits)
	for head, inner := range fromLast(text, "(") {
		before, spaced := cutLastSpace(head)
		if !spaced {
			continue
		}
		unit, ok := cutVersion(inner)
		for r := 0; ok && r < rank; r++ {
			if _, ok := timeUnits[r](unit); ok {
				best, rank = before, r
			}
		}
	}
	return best
}

var timeUnits = []step{
	literal("ms)"),
	func(text string) (string, bool) { return cutSteps(text, cutSpace, literal("s)")) },
	literal("s)"),
}

// grommet reads the same lines as passFail, but the time only at their end.
func grommet(log string, _ input, out *results) error {
	for name := range afterWord(log, "FAIL") {
		out.set(beforeLastTime(strip(name)), Failed)
	}
	for name := range afterWord(log, "PASS") {
		out.set(beforeLastTime(strip(name)), Passed)
	}
	return nil
}

// afterWord finds all (?m)^word\s(.*) and yields the group. After a line with only the word, the
// group is the next line, since a line end is white space too.
func afterWord(log, word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := (search{text: log}); s.next(word); {
			if isLineStart(log, s.start) && s.cut(cutSpace) && !yield(s.line()) {
				return
			}
		}
	}
}

// beforeLastTime cuts \s\([\d\.]+\s?(?:ms|s)\)$ off.
func beforeLastTime(name string) string {
	open := max(0, strings.LastIndexByte(name, '('))
	before, spaced := cutLastSpace(name[:open])
	unit, ok := cutSteps(name[open:], literal("("), cutVersion)
	if rest, spaced := cutSpace(unit); spaced {
		unit = rest
	}
	if spaced && ok && (unit == "ms)" || unit == "s)") {
		return before
	}
	return name
}
