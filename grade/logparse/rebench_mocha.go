package logparse

import (
	"strings"
	"unicode/utf8"
)

// SWE-rebench-V2 removes times at the end of names in the output of JavaScript's test runners: "
// (53ms)" and "53 ms".
var jsTime = expression(`(?i)\s*(?:\(\s*)?\d+(?:\.\d+)?\s*(?:ms|s)\s*\)?\s*$`)

func withoutJSTime(name string) string {
	return strip(jsTime().ReplaceAllLiteralString(name, ""))
}

// setJS records a status for a name without its time, unless the name is empty. A pass does not
// replace another status.
func (r *results) setJS(name, status string) {
	if name = withoutJSTime(name); name != "" {
		r.setPass(name, status)
	}
}

var tapLine = expression(`^(not ok|ok)\s+\d+\s+-\s+(.*?)(?:\s+#.*)?$`)

// rebenchTAP reads TAP with subtests in braces after their suite.
func rebenchTAP(log string, _ input, out *results) error {
	path := nested{separator: " :: "}
	for line := range splitLines(log) {
		line = strip(line)
		if strings.Trim(line, "}") == "" {
			path.leave(max(0, len(path.starts)-len(line)))
			continue
		}
		line, opens := strings.CutSuffix(line, "{")
		if opens {
			line = stripRight(line)
		}
		m := tapLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := withoutJSTime(strip(m[2]))
		if name == "" {
			continue
		}
		status := Failed
		if lower := strings.ToLower(m[2]); strings.Contains(lower, "# skip") || strings.Contains(lower, "# todo") {
			status = Skipped
		} else if m[1] == "ok" {
			status = Passed
		}
		full, ok := out.join(path.prefix(), name)
		if !ok {
			break
		}
		out.setPass(full, status)
		if opens {
			path.enter(name)
		}
	}
	return nil
}

// js4Skips mark a test that was skipped, anywhere in its line.
var js4Skips = []string{"(skipped)", "[skip]", "[skipped]", "[pending]", "[todo]"}

// rebenchJS4 reads the marks of several test runners.
func rebenchJS4(line string, out *results) {
	mark, n := utf8.DecodeRuneInString(line)
	status := ""
	switch mark {
	case '✔', '✓':
		status = Passed
	case '✘', '✖', '×':
		status = Failed
	case '○', '◌', '◦', '⚪':
		status = Skipped
	}
	if status != "" {
		out.setJS(withoutTag(strip(line[n:])), status)
		return
	}
	lower, name := strings.ToLower(line), line
	skipped := false
	for _, marker := range js4Skips {
		skipped = skipped || strings.Contains(lower, marker)
		name = strings.ReplaceAll(name, marker, "")
	}
	if skipped {
		out.setJS(name, Skipped)
	}
}

// withoutTag cuts "[tag]:" or ":" from the beginning.
func withoutTag(name string) string {
	if strings.HasPrefix(name, "[") {
		if _, after, ok := strings.Cut(name, "]:"); ok {
			name = strip(after)
		}
	}
	if after, ok := strings.CutPrefix(name, ":"); ok {
		name = strip(after)
	}
	return name
}
