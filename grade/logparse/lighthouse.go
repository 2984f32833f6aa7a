package logparse

import (
	"fmt"
	"strconv"
	"strings"
)

// lighthouse reads one of three reports, by the row's version.
func lighthouse(log string, in input, out *results) error {
	switch in.row.Version {
	case "9.5", "10.0", "10.2":
		return lighthouseMocha(log, out)
	}
	version, ok := pythonFloat(in.row.Version)
	switch {
	case !ok:
		return fmt.Errorf("the row's version %q is not a number", in.row.Version)
	case version >= 3:
		return eachLine(passFail)(log, in, out)
	}
	const command = "./node_modules/.bin/mocha --reporter json"
	_, log, _ = strings.Cut(log, command)
	for run := range strings.SplitSeq(log, command) {
		fullTitles(beforeLast(afterLast(run, `"passes": [`), "]"), Passed, out)
		fullTitles(beforeLast(afterLast(run, `"failures": [`), "],"), Failed, out)
	}
	return nil
}

// pythonFloat is Python's float(text), for all but underscores between digits and digits
// beyond ASCII.
func pythonFloat(text string) (float64, bool) {
	text = strip(text)
	if strings.ContainsAny(text, "xX_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil || f != 0 // out of range is infinite in Python
}

var mochaFiles = expression(`running\s\d+\stest\sfiles`)

// lighthouseMocha reads mocha's spec report of each run, up to its summary.
func lighthouseMocha(log string, out *results) error {
	for _, run := range mochaFiles().Split(log, -1)[1:] {
		path := newSuites()
		for line := range out.lines(strip(beforePassing(run))) {
			if test, status := lighthouseTest(strip(line)); status != "" {
				out.setJoined(status, path.prefix(), test)
			} else if indentOf(line) > 0 {
				path.enterLine(line)
			}
		}
	}
	return nil
}

func lighthouseTest(line string) (name, status string) {
	if name, status = cutMarked(line, karmaMarks[:1]); status != "" {
		return beforeDuration(name), status
	}
	if rest, ok := cutNumbered(line); ok {
		return beforeDuration(rest), Failed
	}
	return "", ""
}

// beforeDuration returns the text before the last \s\(\d+m+s\), all of it if there is none.
func beforeDuration(text string) string {
	for head, inner := range fromLast(text, "(") {
		before, spaced := cutLastSpace(head)
		unit, ok := cutDigits(inner)
		if rest := strings.TrimLeft(unit, "m"); spaced && ok && len(rest) < len(unit) && strings.HasPrefix(rest, "s)") {
			return before
		}
	}
	return text
}

// beforePassing returns the text before the first \d+\spassing.
func beforePassing(text string) string {
	for s := (search{text: text}); s.next("passing"); {
		if head, ok := cutLastSpace(text[:s.start]); ok {
			if before, ok := cutLastDigits(head); ok {
				return before
			}
		}
	}
	return text
}
