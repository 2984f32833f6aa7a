package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results/manifest"
)

// settingLines returns the lines that show a difference, A's value first. For a text of several
// lines, only the changed lines are shown.
func settingLines(d manifest.Difference) []string {
	name := OneLine(d.Name, 0)
	was, now := settingText(d.Was), settingText(d.Now)
	if strings.Contains(was, "\n") || strings.Contains(now, "\n") {
		return textLines(name, was, now, d.Was == "", d.Now == "")
	}
	was, now = settingValue(d.Was, was), settingValue(d.Now, now)
	if line := fmt.Sprintf("%s: %s -> %s", name, was, now); utf8.RuneCountInString(line) <= width-2 {
		return []string{line}
	}
	return []string{name + ":", "  - " + was, "  + " + now}
}

// settingText returns the text of a JSON string, or the JSON of another value.
func settingText(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	return value
}

// settingValue formats a value on one line. A text is quoted only if it would be misread without
// quotes.
func settingValue(value, text string) string {
	switch {
	case value == "":
		return "not set"
	case text != value && (text == "" || text == "not set" || strings.TrimSpace(text) != text || json.Valid([]byte(text))):
		text = value
	}
	return OneLine(text, 80)
}

const (
	maxTextLines = 10      // displayed changed lines of a text
	maxCompared  = 4 << 20 // compared pairs of lines
)

func textLines(name, was, now string, unset, unsets bool) []string {
	switch {
	case unset:
		return []string{fmt.Sprintf("%s: not set -> %s", name, printable.Count(len(splitLines(now)), "line", "lines"))}
	case unsets:
		return []string{fmt.Sprintf("%s: %s -> not set", name, printable.Count(len(splitLines(was)), "line", "lines"))}
	}
	before, after := splitLines(was), splitLines(now)
	if len(before)*len(after) > maxCompared {
		return []string{fmt.Sprintf("%s: %d lines -> %d lines (see --json)", name, len(before), len(after))}
	}
	changed := changedLines(before, after)
	head := fmt.Sprintf("%s: %s", name, printable.Count(len(changed), "line differs", "lines differ"))
	if len(changed) > maxTextLines {
		return []string{head + " (see --json)"}
	}
	lines := []string{head}
	for _, c := range changed {
		sign, text := c[:1], strings.TrimRight(c[1:], "\r")
		indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
		lines = append(lines, "  "+sign+" "+indent+OneLine(text, width-8-len(indent)))
	}
	return lines
}

func splitLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// changedLines returns the lines of a that are not in b, with "-" before them, and the lines of b
// that are not in a, with "+", in order: everything outside of the longest common subsequence.
func changedLines(a, b []string) []string {
	longest := make([][]int, len(a)+1)
	longest[len(a)] = make([]int, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		longest[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return out
}
