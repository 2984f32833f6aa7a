package logparse

import (
	"strings"
	"unicode/utf8"
)

var juliaLine = expression(`^\s*(.+?)\s+\|(.+)$`)

// rebenchJulia reads the table of test sets at the end of Julia's tests. Columns without a figure
// are empty, so that the meaning of a figure is only partly known.
func rebenchJulia(log string, _ input, out *results) error {
	summary, fails, errs := false, false, false
	for line := range splitLines(log) {
		if strings.Contains(line, "Test Summary:") {
			summary = true
			if strings.Contains(line, "| Pass") {
				_, after, _ := strings.Cut(line, "|")
				header, _, _ := strings.Cut(after, "|")
				fails, errs = strings.Contains(header, "Fail"), strings.Contains(header, "Error")
			}
			continue
		}
		m := juliaLine().FindStringSubmatch(line)
		if !summary || m == nil {
			continue
		}
		if status := juliaStatus(m[2], fails, errs); status != "" {
			out.set(strip(m[1]), status)
		}
	}
	return nil
}

// juliaStatus returns the status of a test set from its columns. fails and errs say which columns
// of failures the table has. It returns "" if there are too few figures.
func juliaStatus(columns string, fails, errs bool) string {
	var figures []string
	for _, word := range words(columns) {
		if strings.Trim(word, "0123456789") == "" {
			figures = append(figures, word)
		}
	}
	const emptyColumn = 10
	switch {
	case len(figures) < 2:
		return ""
	case len(figures) == 2:
		indent := utf8.RuneCountInString(columns) - utf8.RuneCountInString(stripLeft(columns))
		if indent >= emptyColumn || strings.TrimLeft(figures[0], "0") != strings.TrimLeft(figures[1], "0") {
			return Error
		}
	case len(figures) == 3:
		if !isZero(figures[1]) && fails && !errs {
			return Failed
		} else if !isZero(figures[1]) {
			return Error
		}
	case !isZero(figures[2]):
		return Error
	case !isZero(figures[1]):
		return Failed
	}
	return Passed
}
