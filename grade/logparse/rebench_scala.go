package logparse

import (
	"slices"
	"strings"
)

var (
	munitColor       = expression("\x1b\\[[0-9;]*m|\\[[0-9]{1,2}m")
	munitLine        = expression(`^([+x])\s+(.*?)\s+[` + digitChars + `.]+[mμn]?s$`)
	munitPassedColor = expression(`^\+\s+\[0m\[32m(.*?)\[0m\s+\[90m[` + digitChars + `.]+[mμn]?s\[0m$`)
	munitFailedColor = expression(`^x\s+\[0m\[31m(.*?)\[0m\s+\[90m[` + digitChars + `.]+[mμn]?s\[0m$`)
)

// rebenchMunit reads MUnit's output, with colors whose escape is lost, too. The last status of a
// test counts.
func rebenchMunit(line string, out *results) {
	bare := munitLine().FindStringSubmatch(strip(munitColor().ReplaceAllLiteralString(line, "")))
	if m := munitFailedColor().FindStringSubmatch(line); m != nil {
		out.set(m[1], Failed)
	} else if bare != nil && bare[1] == "x" {
		out.set(bare[2], Failed)
	} else if m := munitPassedColor().FindStringSubmatch(line); m != nil {
		out.set(m[1], Passed)
	} else if bare != nil {
		out.set(bare[2], Passed)
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

// rebenchScala3 reads ScalaTest's output with the suite, the last other line, before the name. A
// word that is not known is the status as it is.
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
