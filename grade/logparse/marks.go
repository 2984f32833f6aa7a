package logparse

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

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

// A rule is an expression for the lines of a test runner that say a test's status. Its only
// group without a name is the test's name. The status is fixed by the rule, or comes from the
// group "word": the status under that word, in capitals, in words or, if words is nil, the word
// itself.
type rule struct {
	has          string // a text in every line that expr matches, so that other lines take no time
	expr, status string
	words        map[string]string
	rename       func(string) string // changes the name, if not nil
}

// A finder applies the first rule that matches a line; ok reports whether there is one. The
// status is empty for an unknown word.
type finder func(line string) (name, status string, ok bool)

func findBy(rules ...rule) finder {
	exprs := make([]func() *regexp.Regexp, len(rules))
	for i, r := range rules {
		exprs[i] = expression(r.expr)
	}
	return func(line string) (name, status string, ok bool) {
		for i, r := range rules {
			if !strings.Contains(line, r.has) {
				continue
			}
			if m := exprs[i]().FindStringSubmatch(line); m != nil {
				name, status = r.read(m, exprs[i]().SubexpIndex("word"))
				return name, status, true
			}
		}
		return "", "", false
	}
}

// byRules makes a parser of lines of rules. record is [results.set], or a method with a
// different precedence of statuses.
func byRules(record func(out *results, name, status string), rules ...rule) func(line string, out *results) {
	find := findBy(rules...)
	return func(line string, out *results) {
		if name, status, _ := find(line); status != "" {
			record(out, name, status)
		}
	}
}

// read takes a match apart.
func (r *rule) read(m []string, word int) (name, status string) {
	name, status = m[1], r.status
	if word > 0 {
		name = m[3-word]
		status = strings.ReplaceAll(strings.ToUpper(m[word]), "İ", "I")
		if r.words != nil {
			status = r.words[status]
		}
	}
	if r.rename != nil {
		name = r.rename(name)
	}
	return name, status
}

// cargo reads cargo test: "test path::name ... ok". Ignored tests are left out.
func cargo(line string, out *results) {
	if !strings.HasPrefix(line, "test") {
		return
	}
	status := ""
	switch {
	case strings.HasSuffix(line, "ok"):
		status = Passed
	case strings.HasSuffix(line, "FAILED"):
		status = Failed
	default:
		return
	}
	test, rest := cutWord(line)
	name, rest := cutWord(rest)
	dots, rest := cutWord(rest)
	if word := strip(rest); test == "test" && dots == "..." && (word == "ok" || word == "FAILED") {
		out.set(name, status)
	}
}

// phpunit reads phpunit --testdox: a suite "Name (Class)", and below it its tests, each
// after a mark. Nothing is trimmed at the end of a name.
func phpunit(log string, _ input, out *results) error {
	return phpunitNamed(log, func(name string) string { return name }, out)
}

// phpunitNamed is phpunit with a function that changes a test's name.
func phpunitNamed(log string, rename func(string) string, out *results) error {
	suite := "None" // the reference's name before the first suite
	for line := range lines(log) {
		if name, ok := phpunitSuite(line); ok {
			suite = name
			continue
		}
		if name, status := phpunitTest(line); status != "" {
			out.setJoined(status, suite, " > ", rename(name))
		}
	}
	return nil
}

// phpunitSuite is `^(\w.+) \(.+\)$`.
func phpunitSuite(line string) (name string, ok bool) {
	name, ok = cutParens(line)
	first, _ := utf8.DecodeRuneInString(name)
	return name, ok && isWord(first) && hasTwo(name)
}

var phpunitMarks = []mark{{"✔", Passed}, {"✘", Failed}, {"↩", Skipped}}

// phpunitTest is `^\s*([✔✘↩])\s*(.*)$`.
func phpunitTest(line string) (name, status string) {
	name, status = cutMark(stripLeft(line), phpunitMarks)
	return stripLeft(name), status
}
