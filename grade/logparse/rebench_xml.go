package logparse

import (
	"strings"

	"batch.example/batch/internal/lazy"
)

// junitCase is a test case of a JUnit report.
type junitCase struct {
	attr              map[string]string
	suite             bool // it is a direct child of a testsuite that is not the outermost element
	failed, err, skip bool // it has these elements as direct children
}

// junitReport collects the test cases of a report, as an xmlHandler.
type junitReport struct {
	cases []junitCase
	open  []string
	inner []int // for each open element, its test case, or -1
}

func (r *junitReport) startElement(tag string, attr map[string]string) error {
	depth := len(r.open)
	if depth > 0 {
		if i := r.inner[depth-1]; i >= 0 {
			c := &r.cases[i]
			c.failed, c.err, c.skip = c.failed || tag == "failure", c.err || tag == "error", c.skip || tag == "skipped"
		}
	}
	at := -1
	if tag == "testcase" && depth > 0 {
		at = len(r.cases)
		r.cases = append(r.cases, junitCase{attr: attr, suite: r.open[depth-1] == "testsuite" && depth > 1})
	}
	r.open, r.inner = append(r.open, tag), append(r.inner, at)
	return nil
}

func (r *junitReport) endElement(string) {
	last := len(r.open) - 1
	r.open, r.inner = r.open[:last], r.inner[:last]
}

// status returns the status of a case by the first of these that applies.
func (c junitCase) status(first bool, status string) string {
	switch {
	case first:
		return status
	case c.failed:
		return Failed
	case c.skip:
		return Skipped
	case c.err:
		return Error
	}
	return Passed
}

var xmlDeclaration = lazy.Regexp(`^<\?xml[ \t\n]+version[ \t\n]*=[ \t\n]*(?:"[A-Za-z0-9._-]*"|'[A-Za-z0-9._-]*')` +
	`(?:[ \t\n]+encoding[ \t\n]*=[ \t\n]*(?:"[A-Za-z][A-Za-z0-9._-]*"|'[A-Za-z][A-Za-z0-9._-]*'))?` +
	`(?:[ \t\n]+standalone[ \t\n]*=[ \t\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\n]*\?>[ \t\n]*()<[^/!?]`)

// junitCases reads a report that begins with an XML declaration, directly followed by its outermost
// element. Other text has no cases.
func junitCases(text string) []junitCase {
	head := xmlDeclaration().FindStringSubmatchIndex(text)
	if head == nil {
		return nil
	}
	var r junitReport
	if scanXML(strings.TrimRight(text[head[2]:], " \t\r\n"), &r) != nil {
		return nil
	}
	return r.cases
}

// rebenchReports reads all reports in the log, up to the end of their testsuites.
func rebenchReports(log string, _ input, out *results) error {
	const begin, end = "<?xml", "</testsuites>"
	for {
		_, after, ok := strings.Cut(log, begin)
		text, rest, whole := strings.Cut(after, end)
		if !ok || !whole {
			return nil
		}
		for _, c := range junitCases(begin + text + end) {
			out.set(orNone(c.attr, "classname")+"::"+orNone(c.attr, "name"), c.status(false, ""))
		}
		log = rest
	}
}

// rebenchGradlew reads the reports in the log, each up to the line that ends its testsuite.
func rebenchGradlew(log string, _ input, out *results) error {
	var report []string
	for line := range lines(log) {
		bare := strip(line)
		if strings.HasPrefix(bare, "<?xml") {
			report = []string{line}
			continue
		}
		if report == nil {
			continue
		}
		report = append(report, line)
		if !strings.HasPrefix(bare, "</testsuite>") {
			continue
		}
		for _, c := range junitCases(strings.Join(report, "\n")) {
			name, class := c.attr["name"], c.attr["classname"]
			if class != "" && name != "" {
				name += " (" + class + ")"
			}
			out.set(name, c.status(c.skip, Skipped))
		}
		report = nil
	}
	return nil
}

// rebenchRJUnit reads the first report in the log.
func rebenchRJUnit(log string, _ input, out *results) error {
	const begin, end = "<?xml", "</testsuites>"
	_, text, ok := strings.Cut(log, begin)
	if !ok {
		return nil
	}
	if before, _, whole := strings.Cut(text, end); whole {
		text = before + end
	}
	for _, c := range junitCases(begin + text) {
		if !c.suite {
			continue
		}
		name := c.attr["name"]
		if class := c.attr["classname"]; class != "" {
			name = class + "::" + name
		}
		out.set(name, c.status(c.err && !c.failed, Error))
	}
	return nil
}
