package logparse

import "strings"

// highlightJS reads mocha's spec report, without the summary and the failures' details after
// it. Of the suites around a test, its name has the innermost.
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
	if !hasMilliseconds(name) {
		return strip(name)
	}
	var b strings.Builder
	for name != "" {
		if rest, ok := cutMilliseconds(name); ok {
			name = rest
			continue
		}
		n := 1 + strings.IndexByte(name[1:], '(')
		if n == 0 {
			n = len(name)
		}
		b.WriteString(name[:n])
		name = name[n:]
	}
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
