package template

import (
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/python"
)

// splitLines is str.splitlines.
func splitLines(s string, keep bool) (lines []string) {
	for rest := []byte(s); len(rest) > 0; {
		line, after := python.CutLine(rest)
		end := len(line)
		if keep {
			end = len(rest) - len(after)
		}
		lines = append(lines, string(rest[:end]))
		rest = after
	}
	return lines
}

// split is str.split with at most n splits; -1 means any number.
func split(s string, sep any, n int) []string {
	if sep != nil {
		by := stringArg(sep)
		if by == "" {
			failf("the separator is empty")
		}
		if n >= 0 {
			n++
		}
		if n == 0 {
			return []string{s}
		}
		return strings.SplitN(s, by, n)
	}
	out := []string{}
	for s = strings.TrimLeftFunc(s, python.IsSpace); s != ""; n-- {
		end := strings.IndexFunc(s, python.IsSpace)
		if end < 0 || n == 0 {
			end = len(s)
		}
		out = append(out, s[:end])
		s = strings.TrimLeftFunc(s[end:], python.IsSpace)
	}
	return out
}

// splitRight is str.rsplit.
func splitRight(s string, sep any, n int) []string {
	if n < 0 {
		return split(s, sep, n)
	}
	var out []string
	by := ""
	if sep != nil {
		if by = stringArg(sep); by == "" {
			failf("the separator is empty")
		}
	} else {
		s = strings.TrimRightFunc(s, python.IsSpace)
	}
	for ; n > 0 && (sep != nil || s != ""); n-- {
		at, width := strings.LastIndex(s, by), len(by)
		if sep == nil {
			at = strings.LastIndexFunc(s, python.IsSpace)
			_, width = utf8.DecodeRuneInString(s[max(0, at):])
		}
		if at < 0 {
			break
		}
		out = append([]string{s[at+width:]}, out...)
		if s = s[:at]; sep == nil {
			s = strings.TrimRightFunc(s, python.IsSpace)
		}
	}
	if sep == nil && s == "" {
		return append([]string{}, out...)
	}
	return append([]string{s}, out...)
}

func texts(of any, lines []string) *list {
	l := &list{items: make([]any, len(lines))}
	for i, s := range lines {
		l.items[i] = like(of, s)
	}
	return l
}

func partition(a []any, index func(s, sub string) int, right bool) any {
	s, sep := asText(a[0]), stringArg(a[1])
	if sep == "" {
		failf("the separator is empty")
	}
	parts := []string{s, "", ""}
	if right {
		parts = []string{"", "", s}
	}
	if at := index(s, sep); at >= 0 {
		parts = []string{s[:at], sep, s[at+len(sep):]}
	}
	t := &tuple{}
	for _, p := range parts {
		t.items = append(t.items, like(a[0], p))
	}
	return t
}
