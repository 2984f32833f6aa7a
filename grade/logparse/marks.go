package logparse

import "strings"

// A mark is the text before the name of a test in a line, and its status.
type mark struct{ text, status string }

// cutMark cuts the first of marks that line begins with. The status is empty if none does.
func cutMark(line string, marks []mark) (rest, status string) {
	if line == "" {
		return "", ""
	}
	for i := range marks {
		if m := &marks[i]; m.text[0] == line[0] && strings.HasPrefix(line, m.text) {
			return line[len(m.text):], m.status
		}
	}
	return line, ""
}

// cutMarked cuts one of marks and one white space character. The status is empty if line does not
// begin with them.
func cutMarked(line string, marks []mark) (name, status string) {
	rest, status := cutMark(line, marks)
	if status == "" {
		return "", ""
	}
	name, ok := cutSpace(rest)
	if !ok {
		return "", ""
	}
	return name, status
}

// marked is a parser of lines that begin with a mark. The rest is the test's name after cut, unless
// cut leaves nothing.
func marked(cut step, marks ...mark) func(line string, out *results) {
	return func(line string, out *results) {
		rest, status := cutMark(line, marks)
		if status == "" {
			return
		}
		if name, ok := cut(rest); ok && name != "" {
			out.set(name, status)
		}
	}
}

var (
	// gotest reads the output of go test -v, including subtests: "--- PASS: name (0.00s)".
	gotest = marked(cutParens, mark{"--- PASS: ", Passed}, mark{"--- FAIL: ", Failed}, mark{"--- SKIP: ", Skipped})

	// jq reads automake's "PASS: name".
	jq = marked(cutSpace, mark{"PASS:", Passed}, mark{"FAIL:", Failed})

	// micropython reads run-tests.py: "pass  path.py".
	micropython = marked(cutSpaces, mark{"pass", Passed}, mark{"FAIL", Failed}, mark{"skip", Skipped})

	// jestJSON reads the output of a jq program over jest --json: "[PASSED] name".
	jestJSON = marked(cutSpace, mark{"[PASSED]", Passed}, mark{"[FAILED]", Failed})

	// tap reads the Test Anything Protocol: "ok 1 name", "not ok 2 name".
	tap = marked(func(rest string) (string, bool) { return cutSteps(rest, cutDigits, literal(" ")) },
		mark{"ok ", Passed}, mark{"not ok ", Failed})

	antTest = marked(cutSpaces, mark{"[PASS]", Passed}, mark{"[FAIL]", Failed}, mark{"[ERR]", Failed})
)

// ant reads "[junit] [PASS] name".
func ant(line string, out *results) {
	if rest, ok := strings.CutPrefix(line, "[junit]"); ok {
		if test, ok := cutSpaces(rest); ok {
			antTest(test, out)
		}
	}
}

// failedNumbered reads jasmine's list of failures: "1) name".
func failedNumbered(line string, _ input, out *results) {
	if name, ok := cutNumbered(line); ok {
		out.set(strip(name), Failed)
	}
}
