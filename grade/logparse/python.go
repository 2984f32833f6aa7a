package logparse

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pytest reads the short summary of pytest -rA: "FAILED path::name - message".
func pytest(line string, in input, out *results) {
	if name, status, ok := summaryLine(line, in); ok {
		out.set(name, status)
	}
}

// pytestOptions is pytest for parameters that are paths, which differ between machines:
// "[/a/b/c]" becomes "[/c]".
func pytestOptions(line string, in input, out *results) {
	name, status, ok := summaryLine(line, in)
	if !ok {
		return
	}
	open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if open >= 0 && end > open {
		name = name[:open] + "[" + lastPiece(name[open+1:end]) + "]" // text after the bracket is lost
	}
	out.set(name, status)
}

// lastPiece cuts all folders from an absolute path.
func lastPiece(option string) string {
	if strings.HasPrefix(option, "/") && !strings.HasPrefix(option, "//") && !strings.Contains(option, "*") {
		return option[strings.LastIndexByte(option, '/'):]
	}
	return option
}

// matplotlib is pytest for parameters that newer Python versions print by name.
func matplotlib(line string, in input, out *results) {
	if strings.Contains(line, "MouseButton.") {
		line = strings.ReplaceAll(line, "MouseButton.LEFT", "1")
		line = strings.ReplaceAll(line, "MouseButton.RIGHT", "3")
	}
	pytest(line, in, out)
}

// summaryLine returns the first two words of a line that starts with a status, with the status as
// written.
func summaryLine(line string, in input) (name, status string, ok bool) {
	if !startsWithStatus(line) {
		return "", "", false
	}
	if strings.HasPrefix(line, Failed) {
		line = strings.ReplaceAll(line, " - ", " ")
	}
	status, rest := cutWord(line)
	name, _ = cutWord(rest)
	return name, status, name != "" && !isSkipSummary(status, name, in)
}

func startsWithStatus(line string) bool {
	return line != "" && strings.IndexByte("FPSEX", line[0]) >= 0 &&
		slices.ContainsFunc(statusWords[:], func(s string) bool { return strings.HasPrefix(line, s) })
}

func endsWithStatus(line string) bool {
	return line != "" && strings.IndexByte("DRL", line[len(line)-1]) >= 0 &&
		slices.ContainsFunc(statusWords[:], func(s string) bool { return strings.HasSuffix(line, s) })
}

// isSkipSummary reports whether a line counts skipped tests, "SKIPPED [3] path:line: why", instead
// of naming one. Before v5, the count was taken for a test's name.
func isSkipSummary(status, name string, in input) bool {
	if in.rules == V4 || status != Skipped {
		return false
	}
	count, ok := strings.CutPrefix(name, "[")
	count, ok2 := strings.CutSuffix(count, "]")
	return ok && ok2 && count != "" && strings.TrimLeftFunc(count, unicode.IsDigit) == ""
}

// pytestV2 reads pytest's summary, and lines that end with the status, as older versions of pytest
// -v and tox print them. Colors are removed first.
func pytestV2(line string, in input, out *results) {
	line = stripColors(line)
	if startsWithStatus(line) {
		summaryV2(line, in, out)
	} else if endsWithStatus(line) {
		trailingV2(line, in, out)
	}
}

func summaryV2(line string, in input, out *results) {
	if in.rules == V4 {
		pytest(line, in, out)
		return
	}
	if strings.HasPrefix(line, Failed) {
		line, _, _ = strings.Cut(line, " - ")
	}
	status, rest := cutWord(line)
	first, _ := cutWord(rest)
	if first != "" && !isSkipSummary(status, first, in) {
		out.set(singleSpaced(rest), status)
	}
}

func trailingV2(line string, in input, out *results) {
	all := words(line)
	switch n := len(all); {
	case n < 2:
	case in.rules == V4:
		out.set(all[0], all[1])
	default:
		out.set(strings.Join(all[:n-1], " "), all[n-1])
	}
}

// singleSpaced joins the words of text with one space each.
func singleSpaced(text string) string {
	text = strip(text)
	for i := 0; i < len(text); i++ {
		if isWide(text[i]) || isASCIISpace(text[i]) && (text[i] != ' ' || isASCIISpace(text[i+1])) {
			return strings.Join(words(text), " ")
		}
	}
	return text
}

// stripColors removes "[31m" and the like, then the characters 1 to 31, in the same order as the
// reference, so that codes that only the second step joins remain.
func stripColors(line string) string {
	i := 0
	for i < len(line) && (line[i] >= ' ' || line[i] == 0) && (line[i] != '[' || colorLen(line[i:]) == 0) {
		i++
	}
	if i == len(line) {
		return line
	}
	kept := append(make([]byte, 0, len(line)), line[:i]...)
	for i < len(line) {
		if n := colorLen(line[i:]); n > 0 {
			i += n
			continue
		}
		if c := line[i]; c >= ' ' || c == 0 {
			kept = append(kept, c)
		}
		i++
	}
	return string(kept)
}

// colorLen returns the length of the match of `\[\d+m` at the start of s.
func colorLen(s string) int {
	if s[0] != '[' {
		return 0
	}
	i := 1
	for i < len(s) && s[i] != 'm' {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsDigit(r) {
			return 0
		}
		i += n
	}
	if i == 1 || i == len(s) {
		return 0
	}
	return i + 1
}

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

var errOneWord = errors.New("a line that should have a status and a name has one word")

// seaborn reads pytest's summary and lines "name PASSED ...".
func seaborn(log string, in input, out *results) error {
	for line := range lines(log) {
		fails, passesWithin := strings.HasPrefix(line, Failed), strings.Contains(line, " PASSED ")
		if !fails && !passesWithin && !strings.HasPrefix(line, Passed) {
			continue
		}
		first, rest := cutWord(line)
		second, _ := cutWord(rest)
		switch {
		case second == "" && in.rules == V4:
			return errOneWord
		case second == "":
		case fails:
			out.set(second, Failed)
		case !passesWithin:
			out.set(second, Passed)
		case second == Passed:
			out.set(first, Passed)
		}
	}
	return nil
}
