package logparse

import (
	"strings"
	"unicode/utf8"
)

// maven reads runs of mvn with one test each, "-Dtest=name" in the command that set -x prints, and
// their "BUILD SUCCESS". A result belongs to the oldest command without a result or, at the end, to
// a later command. Under v4 rules, it belongs to the last command above.
func maven(log string, in input, out *results) error {
	var m mavenRuns
	current := "---NO TEST NAME FOUND YET---" // the reference's name in v4
	for line := range lines(log) {
		line = strip(line)
		if name, ok := mavenTest(line); ok {
			m.tests, current = append(m.tests, name), name
		}
		status := mavenResult(line)
		switch {
		case status == "":
		case in.rules == V4:
			out.set(current, status)
		default:
			m.result(status, out)
		}
	}
	m.settle(out)
	return nil
}

// mavenRuns are the tests without a result, and the results without a test, in order.
type mavenRuns struct{ tests, results []string }

// result gives a result to the oldest test, or keeps it if there is none.
func (m *mavenRuns) result(status string, out *results) {
	if len(m.tests) == 0 {
		m.results = append(m.results, status)
		return
	}
	out.set(m.tests[0], status)
	m.tests = m.tests[1:]
}

// settle gives the remaining results to the remaining tests.
func (m *mavenRuns) settle(out *results) {
	for len(m.tests) > 0 && len(m.results) > 0 {
		out.set(m.tests[0], m.results[0])
		m.tests, m.results = m.tests[1:], m.results[1:]
	}
}

// mavenTest finds the last `-Dtest=(\S+)` in a line.
func mavenTest(line string) (name string, ok bool) {
	for _, rest := range fromLast(line, "-Dtest=") {
		if _, space := cutSpace(rest); rest != "" && !space {
			name, _ = cutWord(rest)
			return name, true
		}
	}
	return "", false
}

func mavenResult(line string) string {
	switch {
	case strings.HasSuffix(line, "BUILD SUCCESS"):
		return Passed
	case strings.HasSuffix(line, "BUILD FAILURE"):
		return Failed
	default:
		return ""
	}
}

// gradle reads "Class > test PASSED". Under v5 rules, the status may also stand on a later
// line of its own, as when a warning came between.
func gradle(log string, in input, out *results) error {
	pending := ""
	for line := range lines(log) {
		line = strip(line)
		if name, status, ok := gradleResult(line); ok {
			out.set(name, status)
			pending = ""
			continue
		}
		switch {
		case in.rules == V4:
		case isGradleTest(line):
			pending = line
		case pending != "" && (line == Passed || line == Failed):
			out.set(pending, line)
			pending = ""
		}
	}
	return nil
}

// gradleResult is `^([^>].+)\s+(PASSED|FAILED)$`. White space before the last stays part of
// the name.
func gradleResult(line string) (name, status string, ok bool) {
	name, status = line, Passed
	if name, ok = strings.CutSuffix(line, Passed); !ok {
		status = Failed
		if name, ok = strings.CutSuffix(line, Failed); !ok {
			return "", "", false
		}
	}
	name, ok = cutLastSpace(name)
	return name, status, ok && !strings.HasPrefix(name, ">") && hasTwo(name)
}

// hasTwo reports whether text has at least two characters.
func hasTwo(text string) bool {
	_, n := utf8.DecodeRuneInString(text)
	return n < len(text)
}

// isGradleTest reports whether a line is "Class > test".
func isGradleTest(line string) bool {
	if !strings.Contains(line, ">") || strings.HasPrefix(line, ">") {
		return false
	}
	_, rest := cutWord(line)
	arrow, rest := cutWord(rest)
	test, rest := cutWord(rest)
	return arrow == ">" && test != "" && rest == ""
}
