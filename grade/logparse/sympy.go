package logparse

import "strings"

// sympy reads the headings of failures, "____ path.py:name ____", and then the lines of
// bin/test --verbose, "test_name ok", which win.
func sympy(log string, _ input, out *results) error {
	sympyHeadings(log, out)
	for line := range lines(log) {
		sympyVerdict(strip(line), out)
	}
	return nil
}

func sympyHeadings(log string, out *results) {
	for line := range lines(log) {
		if name, ok := sympyHeading(line); ok {
			out.set(name, Failed)
		}
	}
}

func sympyVerdict(line string, out *results) {
	if !strings.HasPrefix(line, "test_") {
		return
	}
	name, _ := cutWord(line)
	switch {
	case strings.HasSuffix(line, " E"):
		out.set(name, Error)
	case strings.HasSuffix(line, " F"):
		out.set(name, Failed)
	case strings.HasSuffix(line, " ok"):
		out.set(name, Passed)
	}
}

// sympyHeading finds `(_*) (.*)\.py:(.*) (_*)` in a line: the text between its first and its last
// space, with the last ".py:" in it.
func sympyHeading(line string) (name string, ok bool) {
	if !strings.Contains(line, ".py:") {
		return "", false
	}
	first, last := strings.IndexByte(line, ' '), strings.LastIndexByte(line, ' ')
	if first == last {
		return "", false
	}
	name = line[first+1 : last]
	return name, strings.Contains(name, ".py:")
}
