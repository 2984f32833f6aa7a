package logparse

import (
	"slices"
	"strings"
)

var (
	munitColor   = expression("\x1b\\[[0-9;]*m|\\[[0-9]{1,2}m")
	munitBare    = findBy(rule{expr: `^(?<word>[+x])\s+(.*?)\s+[` + digitChars + `.]+[mμn]?s$`, words: map[string]string{"+": Passed, "X": Failed}})
	munitColored = findBy(
		rule{has: "[32m", expr: `^\+\s+\[0m\[32m(.*?)\[0m\s+\[90m[` + digitChars + `.]+[mμn]?s\[0m$`, status: Passed},
		rule{has: "[31m", expr: `^x\s+\[0m\[31m(.*?)\[0m\s+\[90m[` + digitChars + `.]+[mμn]?s\[0m$`, status: Failed})
)

// rebenchMunit reads MUnit's output, including colors that lost their escape character. The last
// status of a test counts, and within one line a failure.
func rebenchMunit(line string, out *results) {
	name, status, ok := munitBare(strip(munitColor().ReplaceAllLiteralString(line, "")))
	if colored, word, found := munitColored(line); found && (word == Failed || status != Failed) {
		name, status, ok = colored, word, true
	}
	if ok {
		out.set(name, status)
	}
}

var (
	scalaTest  = expression(`^\[info\]\s+-\s+(.*?)(?:\s+\*{3}\s+([A-Z]+)\s+\*{3})?$`)
	scalaSuite = expression(`^\[info\]\s+([^\-].*)$`)
	scalaTime  = expression(`\s*\(\d+\s+[` + wordChars + `]+\)$`)

	scalaWords = map[string]string{"ABORTED": Error, "IGNORED": Skipped, "CANCELED": Skipped, "CANCELLED": Skipped, "PENDING": Skipped}
	scalaNoise = []string{
		"Run completed", "Total number", "Suites:", "Tests:", "All tests", "compiling", "done compiling", "loading", "welcome to", "set current",
	}
)

// rebenchScala3 reads ScalaTest's output. A name begins with the suite, which is the last other
// line. An unknown word is used as the status.
func rebenchScala3(log string, _ input, out *results) error {
	suite := ""
	for line := range splitLines(log) {
		line = strip(line)
		if !strings.HasPrefix(line, "[info] -") {
			m := scalaSuite().FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if name := strip(m[1]); name != "" && !slices.ContainsFunc(scalaNoise, func(n string) bool { return strings.Contains(name, n) }) {
				suite = name + ": "
			}
			continue
		}
		m := scalaTest().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name, status := scalaTime().ReplaceAllLiteralString(strip(m[1]), ""), m[2]
		if word, known := scalaWords[status]; known {
			status = word
		}
		if status == "" {
			status = Passed
			if _, known := out.statuses[suite+name]; known {
				continue
			}
		}
		if out.setJoined(status, suite, name); out.err != nil {
			return out.err
		}
	}
	return nil
}
