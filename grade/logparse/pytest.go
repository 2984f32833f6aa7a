package logparse

import (
	"slices"
	"strings"
	"unicode"
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
