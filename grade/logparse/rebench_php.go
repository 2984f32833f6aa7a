package logparse

import "strings"

var (
	pestLine = findBy(
		rule{expr: `(?i)^FA[iıİ]L(?:ED)?\s+(\S.+)$`, status: Failed, rename: pestName},
		rule{expr: `^(?<word>✓|✔|-)\s+(.+?)\s{2,}\d+\.?\d*s(?:[^` + wordChars + `]|$)`, words: pestMarks, rename: pestName},
		rule{expr: `(?i)^(?<word>⨯|x)\s+(.+?)\s{2,}\d+\.?\d*s(?:[^` + wordChars + `]|$)`, words: pestMarks, rename: pestName},
		rule{expr: `^(?<word>✓|✔|⨯|x|X|-)\s+(.+?)\s*$`, words: pestMarks, rename: pestName})
	pestMarks   = map[string]string{"✓": Passed, "✔": Passed, "-": Skipped, "⨯": Failed, "X": Failed}
	pestSkipped = expression(`(?i)\([sſ][kK\x{212a}][iıİ]pped\)`)
	pestSkip    = expression(`(?i)SK[iıİ]PPED`)
	pestMark    = expression(`^(?:✓|✔|⨯|x|-)\s+`)
	pestApart   = expression(`\s{2,}\d+(?:\.\d+)?s\s*$`)
	pestTime    = expression(`\s+\d+(?:\.\d+)?s\s*$`)
)

// rebenchPest reads the output of Pest and of Laravel's test runner: a mark, a name and a time. A
// line without a mark that says that a test was skipped is the name as a whole.
func rebenchPest(line string, out *results) {
	line = strip(line)
	for _, other := range []string{"___", "---", "Tests:", "Duration:"} {
		if strings.HasPrefix(line, other) {
			return
		}
	}
	name, status, ok := pestLine(line)
	switch {
	case ok && name != "":
		out.setPass(name, status)
	case !ok && (pestSkipped().MatchString(line) || hasWord(line, pestSkip)):
		if name = pestName(pestMark().ReplaceAllLiteralString(line, "")); name != "" {
			out.setFirst(name, Skipped)
		}
	}
}

// pestName cuts times from the end of a name.
func pestName(name string) string {
	name = pestApart().ReplaceAllLiteralString(stripRight(name), "")
	return strip(pestTime().ReplaceAllLiteralString(name, ""))
}
