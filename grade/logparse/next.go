package logparse

import "strings"

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
