package logparse

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
)

var jestMarks = []mark{{"✓", Passed}, {"✕", Failed}, {"○", Skipped}}

// jest reads the output of jest --verbose: "✓ name (12 ms)". It is
// ^\s*(✓|✕|○)\s(.+?)(?:\s\((\d+\s*m?s)\))?$.
func jest(line string, in input, out *results) {
	name, status := cutMarked(strip(line), jestMarks)
	if name == "" {
		return
	}
	if open := strings.LastIndexByte(name, '('); open >= 0 && isJestTime(name[open+1:]) {
		if before, ok := cutLastSpace(name[:open]); ok && before != "" {
			name = before
		}
	}
	if in.rules != V4 {
		name = strip(name)
	}
	out.set(name, status)
}

// isJestTime is \d+\s*m?s\)$.
func isJestTime(text string) bool {
	unit, ok := cutDigits(text)
	unit = stripLeft(unit)
	return ok && (unit == "ms)" || unit == "s)")
}

// immutableJS selects the parser of one of the two known instances.
func immutableJS(log string, in input, out *results) error {
	id := in.row.InstanceID
	switch id[strings.LastIndexByte(id, '-')+1:] {
	case "2006":
		return eachLine(jest)(log, in, out)
	case "2005":
		return eachStripped(jestJSON)(log, in, out)
	}
	return fmt.Errorf("instance %q: only ids that end in -2005 or -2006 are known", id)
}

var vitestMarks = []mark{{"✓", Passed}, {"×", Failed}, {"↓", Skipped}}

// vitest reads the output of vitest --reporter=verbose: "✓ file > suite > name 12ms". It is
// ^\s*(✓|×|↓)\s(.+?)(?:\s(\d+\s*m?s?|\[skipped\]))?$.
func vitest(line string, out *results) {
	name, status := cutMarked(line, vitestMarks)
	if name == "" {
		return
	}
	before, ok := strings.CutSuffix(name, "[skipped]")
	if !ok {
		before, ok = cutLastDigits(stripRight(strings.TrimSuffix(strings.TrimSuffix(name, "s"), "m")))
	}
	if before, space := cutLastSpace(before); ok && space && before != "" {
		name = before
	}
	out.set(name, status)
}

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

// calypso reads jest's report of each command in wp-calypso's log, up to the first failure's
// details or the summary. Entered suites carry over to the next command.
func calypso(log string, _ input, out *results) error {
	path := newSuites()
	_, log, _ = strings.Cut(log, calypsoCommand)
	for run := range strings.SplitSeq(log, calypsoCommand) {
		if err := calypsoRun(run, path, out); err != nil {
			return err
		}
	}
	return nil
}

const calypsoCommand = " ./node_modules/.bin/jest "

func calypsoRun(run string, path *suites, out *results) error {
	for line := range out.lines(run) {
		if strings.HasPrefix(line, "Test Suites") || strings.HasPrefix(line, "  ● ") {
			return nil
		}
		text := stripLeft(line)
		test, status := cutMark(text, jestMarks[:2])
		indented := len(text) < len(line)
		switch {
		case status != "":
			name, named := calypsoTest(test)
			if !indented || !named {
				return fmt.Errorf("the line %.60q has the mark of a test, but not the form of one", line)
			}
			out.setJoined(status, strip(cmp.Or(path.prefix(), suiteSeparator)+name))
		case indented:
			path.enterLine(line)
		}
	}
	return nil
}

// calypsoTest reads the text after a test's mark: \s(.*)\(\d+ms\)$ if such a time is anywhere,
// otherwise \s(.*).
func calypsoTest(text string) (name string, ok bool) {
	name, ok = cutSpace(text)
	if !ok {
		return "", false
	}
	if !hasMilliseconds(name) {
		return name, true
	}
	open := strings.LastIndexByte(name, '(')
	rest, ok := cutMilliseconds(name[open:])
	return name[:open], ok && rest == ""
}

// cutMilliseconds is \(\d+ms\).
func cutMilliseconds(text string) (rest string, ok bool) {
	return cutSteps(text, literal("("), cutDigits, literal("ms)"))
}

func hasMilliseconds(text string) bool {
	for s := (search{text: text}); s.next("("); {
		if _, ok := cutMilliseconds(text[s.start:]); ok {
			return true
		}
	}
	return false
}
