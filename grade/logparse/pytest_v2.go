package logparse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
