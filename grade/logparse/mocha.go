package logparse

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"batch.example/batch/internal/python"
)

// highlightJS reads mocha's spec report, without the summary and the failures' details after it. A
// test's name includes only the innermost suite.
func highlightJS(log string, _ input, out *results) error {
	suite := ""
	for line := range out.lines(beforeMochaSummary(log)) {
		if test, status := highlightJSTest(stripLeft(line)); status != "" {
			out.setJoined(status, suite, withoutMilliseconds(test))
		} else if strings.HasPrefix(line, "  ") {
			suite = strip(line) + "."
		}
	}
	return nil
}

var checkMarks = []mark{{"✓", Passed}, {"✔", Passed}}

func highlightJSTest(line string) (name, status string) {
	if name, status = cutMark(line, checkMarks); status != "" {
		return name, status
	}
	if rest, ok := cutSteps(line, cutDigits, literal(")")); ok {
		return rest, Failed
	}
	return "", ""
}

// withoutMilliseconds removes every \(\d+ms\) and the white space around what is left.
func withoutMilliseconds(name string) string {
	var b strings.Builder
	copied := 0
	for s := (search{text: name}); s.next("("); {
		if rest, ok := cutMilliseconds(name[s.start:]); ok {
			b.WriteString(name[copied:s.start])
			s.pos = len(name) - len(rest)
			copied = s.pos
		}
	}
	b.WriteString(name[copied:])
	return strip(b.String())
}

// beforeMochaSummary returns the text before the first \n[ \t]*\d+ passing.
func beforeMochaSummary(text string) string {
	for s := (search{text: text}); s.next(" passing"); {
		if before, ok := cutLastDigits(text[:s.start]); ok {
			if before, ok = strings.CutSuffix(strings.TrimRight(before, " \t"), "\n"); ok {
				return before
			}
		}
	}
	return text
}

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

// prismJS reads the JSON that mocha prints after each command in the log.
func prismJS(log string, _ input, out *results) error {
	const command = "./node_modules/.bin/mocha tests/run.js --reporter json"
	_, log, found := strings.Cut(log, command)
	if !found {
		return nil
	}
	for run := range strings.SplitSeq(log, command) {
		if _, after, ok := strings.Cut(run, "{"); ok {
			run = after
		}
		if err := prismReport("{"+beforeLast(run, "}")+"}", out); err != nil {
			return fmt.Errorf("the JSON report: %w", err)
		}
	}
	return nil
}

func prismReport(text string, out *results) error {
	l := python.NewLoader(text)
	members := map[string]prismList{}
	err := l.Object(func(key string) (err error) {
		if key == "failures" || key == "passes" {
			members[key], err = readPrismList(l)
			return err
		}
		_, err = l.Value()
		return err
	})
	if err == nil {
		err = l.End()
	}
	if err != nil {
		return err
	}
	for _, list := range []struct{ member, status string }{{"failures", Failed}, {"passes", Passed}} {
		tests, ok := members[list.member]
		if !ok {
			return fmt.Errorf("it has no member %q", list.member)
		}
		if tests.problem != nil {
			return fmt.Errorf("member %q: %w", list.member, tests.problem)
		}
		for _, title := range tests.titles {
			out.set(title, list.status)
		}
	}
	return nil
}

// prismList is a list of tests. A problem counts only at the end: if the member occurs again, the
// later one counts.
type prismList struct {
	titles  []string
	problem error
}

var errPrismList = errors.New("it is not a list")

// readPrismList reads a list of tests. The reference takes an empty object and an empty
// string for an empty list.
func readPrismList(l *python.Loader) (list prismList, err error) {
	switch l.Next() {
	case '[':
		err = l.List(func() error {
			title, problem, err := readPrismTest(l)
			if problem != nil {
				list.problem = problem
			}
			list.titles = append(list.titles, title)
			return err
		})
	case '{':
		err = l.Object(func(string) error {
			list.problem = errPrismList
			_, err := l.Value()
			return err
		})
	default:
		var text string
		if text, err = l.Value(); text != `""` {
			list.problem = errPrismList
		}
	}
	return list, err
}

func readPrismTest(l *python.Loader) (title string, problem, err error) {
	if l.Next() != '{' {
		_, err := l.Value()
		return "", errors.New("a test is not an object"), err
	}
	problem = errors.New(`a test has no "fullTitle"`)
	err = l.Object(func(key string) (err error) {
		if key != "fullTitle" {
			_, err = l.Value()
			return err
		}
		problem = nil
		switch l.Next() {
		case '"':
			title, err = l.Text()
			return err
		case '{', '[':
			problem = errors.New(`a "fullTitle" is not a text`)
		}
		title, err = l.Value()
		return err
	})
	return title, problem, err
}

// fullTitles finds all "fullTitle":\s"(.*)",\n and records the group.
func fullTitles(text, status string, out *results) {
	for s := (search{text: text}); s.next(`"fullTitle":`); {
		if !s.cut(cutSpace, literal(`"`)) {
			continue
		}
		if title, ok := strings.CutSuffix(s.line(), `",`); ok && s.pos < len(text) {
			out.set(title, status)
		}
	}
}

// afterLast is Python's text.split(sep)[-1], for a sep that cannot overlap itself.
func afterLast(text, sep string) string {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[i+len(sep):]
	}
	return text
}

// beforeLast is Python's text.rsplit(sep, 1)[0].
func beforeLast(text, sep string) string {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i]
	}
	return text
}
