package logparse

import (
	"strings"
)

var (
	pestTimed   = expression(`^(✓|✔|-)\s+(.+?)\s{2,}\d+\.?\d*s(?:[^` + wordChars + `]|$)`)
	pestFailed  = expression(`(?i)^(⨯|x)\s+(.+?)\s{2,}\d+\.?\d*s(?:[^` + wordChars + `]|$)`)
	pestBare    = expression(`^(✓|✔|⨯|x|X|-)\s+(.+?)\s*$`)
	pestSuite   = expression(`(?i)^FA[iıİ]L(?:ED)?\s+(\S.+)$`)
	pestSkipped = expression(`(?i)\([sſ][kK\x{212a}][iıİ]pped\)`)
	pestSkip    = expression(`(?i)SK[iıİ]PPED`)
	pestMark    = expression(`^(?:✓|✔|⨯|x|-)\s+`)
	pestApart   = expression(`\s{2,}\d+(?:\.\d+)?s\s*$`)
	pestTime    = expression(`\s+\d+(?:\.\d+)?s\s*$`)
)

// rebenchPest reads the output of Pest and of Laravel's test runner: a mark, a name and a time.
func rebenchPest(line string, out *results) {
	line = strip(line)
	for _, other := range []string{"___", "---", "Tests:", "Duration:"} {
		if strings.HasPrefix(line, other) {
			return
		}
	}
	if m := pestSuite().FindStringSubmatch(line); m != nil {
		out.set(pestName(m[1]), Failed)
		return
	}
	m := pestTimed().FindStringSubmatch(line)
	if m == nil {
		m = pestFailed().FindStringSubmatch(line)
	}
	if m == nil {
		m = pestBare().FindStringSubmatch(line)
	}
	if m == nil {
		m = pestNote(line)
	}
	switch name := pestName(m[2]); {
	case name == "":
	case m[1] == "✓" || m[1] == "✔":
		out.setFirst(name, Passed)
	case m[1] == "-":
		out.set(name, Skipped)
	case m[1] == "":
		out.setFirst(name, Skipped)
	default:
		out.set(name, Failed)
	}
}

// pestNote is the match of a line without a mark: all of it is the name if it says that it was
// skipped.
func pestNote(line string) []string {
	if pestSkipped().MatchString(line) || hasWord(line, pestSkip) {
		return []string{line, "", pestMark().ReplaceAllLiteralString(line, "")}
	}
	return []string{line, "", ""}
}

// pestName cuts times from the end of a name.
func pestName(name string) string {
	name = pestApart().ReplaceAllLiteralString(stripRight(name), "")
	return strip(pestTime().ReplaceAllLiteralString(name, ""))
}
