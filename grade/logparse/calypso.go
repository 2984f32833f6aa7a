package logparse

import (
	"cmp"
	"fmt"
	"strings"
)

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
