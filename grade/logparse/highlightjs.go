package logparse

import "strings"

// highlightJS reads mocha's spec report, without the summary and the failures' details after it. A
// test's name includes only the innermost suite.
func highlightJS(log string, _ input, out *results) error {
	suite := ""
	for line := range out.lines(beforeMochaSummary(log)) {
		if test, status := highlightJSTest(stripLeft(line)); status != "" {
			out.setJoined(status, suite, withoutMilliseconds(test))
		} else if strings.HasPrefix(line, "  ") {
			suite = strip(line) + "."
		}
	}
	return nil
}

var checkMarks = []mark{{"✓", Passed}, {"✔", Passed}}

func highlightJSTest(line string) (name, status string) {
	if name, status = cutMark(line, checkMarks); status != "" {
		return name, status
	}
	if rest, ok := cutSteps(line, cutDigits, literal(")")); ok {
		return rest, Failed
	}
	return "", ""
}

// withoutMilliseconds removes every \(\d+ms\) and the white space around what is left.
func withoutMilliseconds(name string) string {
	var b strings.Builder
	copied := 0
	for s := (search{text: name}); s.next("("); {
		if rest, ok := cutMilliseconds(name[s.start:]); ok {
			b.WriteString(name[copied:s.start])
			s.pos = len(name) - len(rest)
			copied = s.pos
		}
	}
	b.WriteString(name[copied:])
	return strip(b.String())
}

// beforeMochaSummary returns the text before the first \n[ \t]*\d+ passing.
func beforeMochaSummary(text string) string {
	for s := (search{text: text}); s.next(" passing"); {
		if before, ok := cutLastDigits(text[:s.start]); ok {
			if before, ok = strings.CutSuffix(strings.TrimRight(before, " \t"), "\n"); ok {
				return before
			}
		}
	}
	return text
}
