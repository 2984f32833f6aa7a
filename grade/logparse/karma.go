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

// next reads Karma's report or, for version 1.27, Cypress's.
func next(log string, in input, out *results) error {
	if in.row.Version == "1.27" {
		return nextCypress(log, out)
	}
	return nextKarma(log, out)
}

var nextAssertion = expression(`AssertionError:\s+#(?s:.*?)\n\n`)

// nextKarma reads the output of each browser, up to the totals. Entered suites carry over to the
// next browser.
func nextKarma(log string, out *results) error {
	const command = " xvfb-run "
	path := newSuites()
	_, log, found := strings.Cut(nextAssertion().ReplaceAllLiteralString(stripANSI(log), ""), command)
	if !found {
		return nil
	}
	for run := range strings.SplitSeq(log, command) {
		for line := range out.lines(afterLast(run, "Starting browser Chrome")) {
			if strings.HasPrefix(line, "TOTAL") {
				break
			}
			nextLine(line, path, out)
		}
	}
	return nil
}

func nextLine(line string, path *suites, out *results) {
	text := stripLeft(line)
	for _, word := range []string{"ERROR", "LOG", "WARN", "Check", "in"} {
		if strings.HasPrefix(text, word) {
			return
		}
	}
	if _, name, ok := strings.Cut(line, "✗"); ok {
		out.setJoined(Failed, path.prefix(), stripLeft(name))
	} else if _, name, ok := strings.Cut(line, "✓"); ok {
		out.setJoined(Passed, path.prefix(), stripLeft(name))
	} else if len(text) < len(line) {
		path.enterLine(line)
	}
}

var cypressFile = expression(`Running:(?:.*)\)\n{3}\s{2}(.*)\n`)

// nextCypress reads the spec report of each file that Cypress runs.
func nextCypress(log string, out *results) error {
	files := cypressFile().FindAllStringSubmatchIndex(log, -1)
	for i, f := range files {
		end := len(log)
		if i+1 < len(files) {
			end = files[i+1][0]
		}
		suite, report := log[f[2]:f[3]], log[f[1]:end]
		cypressFailures(report, suite, out)
		cypressPasses(report, suite, out)
		if out.err != nil {
			return out.err
		}
	}
	return nil
}

// cypressFailures finds (?m)^\s{4}\d+\)\s(.*).
func cypressFailures(report, suite string, out *results) {
	for s := (search{text: report}); s.nextNumber(4); {
		if isLineStart(report, s.start) && s.cut(cutSpace) {
			out.setJoined(Failed, suite, ": ", strip(s.line()))
		}
	}
}

// cypressPasses finds (?m)^\s{4}✓\s(.*)\(.
func cypressPasses(report, suite string, out *results) {
	from := 0
	for s := (search{text: report}); s.next("✓"); from = s.pos {
		head, ok := cutLastSpaces(report[from:s.start], 4)
		if !ok || !isLineStart(report, from+len(head)) || !s.cut(cutSpace) {
			continue
		}
		line, _, _ := strings.Cut(report[s.pos:], "\n")
		if open := strings.LastIndexByte(line, '('); open >= 0 {
			out.setJoined(Passed, suite, ": ", strip(line[:open]))
			s.pos += open + 1
		}
	}
}
