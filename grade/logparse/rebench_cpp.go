package logparse

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// cppWords are the words after a test's name, in search order.
var cppWords = []string{Passed, Failed, Skipped, Error}

var cppHeading = expression(`^_{27} (.*?) _{27}$`)

// rebenchCpp reads pytest's verbose output; after the failures begin, it reads only their headings.
func rebenchCpp(log string, _ input, out *results) error {
	failures := false
	const heading = "=================================== FAILURES ==================================="
	for line := range splitLines(log) {
		line = strip(line)
		switch {
		case strings.HasPrefix(line, heading):
			failures = true
		case failures:
			if m := cppHeading().FindStringSubmatch(line); m != nil {
				out.set(m[1], Failed)
			}
		default:
			cppLine(line, out)
		}
	}
	return nil
}

// cppLine records the text before the first word of a status. From an id of pytest, it keeps the
// text after the last "::".
func cppLine(line string, out *results) {
	for _, word := range cppWords {
		name, ok := beforeWord(line, word)
		if !ok {
			continue
		}
		for _, rest, ok := strings.Cut(name, "::"); ok; _, rest, ok = strings.Cut(name, "::") {
			name = rest
		}
		out.setPass(name, word)
		return
	}
}

// beforeWord returns the text before the first word that follows white space, without that space.
func beforeWord(line, word string) (before string, ok bool) {
	for from := 0; ; {
		i := strings.Index(line[from:], word)
		if i < 0 {
			return "", false
		}
		before = line[:from+i]
		if short := stripRight(before); len(short) < len(before) {
			return short, true
		}
		from += i + len(word)
	}
}

var (
	botanLine  = expression(`(?i)^(.*?)\s+ran\s+(\d+)\s+tests\s+[iıİ]n\s+[` + digitChars + `.]+\s+(?:msec|sec)\s+(.+)$`)
	cppDotted  = expression(`^(?:\[[0-9]+/[0-9]+\]\s*)?(.*?)\s*\.\.\.\s*([` + wordChars + `]+)$`)
	cppFailed  = expression(`(?i)FA[iıİ]LURE|FA[iıİ]LED|FA[iıİ]L`)
	cppSkipped = expression(`(?i)SK[iıİ]PPED`)
	cppPassed  = expression(`(?i)OK|PASSED`)
	botanWrong = expression(`(?i)fa[iıİ]led`)
)

// rebenchCpp3 reads lines "[1/2] NAME... OK", Botan's summaries of groups, and any line with a
// status word; the whole line is then the name.
func rebenchCpp3(line string, out *results) {
	if m := botanLine().FindStringSubmatch(line); m != nil {
		status, tail := Passed, strip(m[3])
		if hasWord(tail, botanWrong) {
			status = Failed
		}
		out.set(strip(m[1])+" ran "+m[2]+" tests "+tail, status)
		return
	}
	name, status := line, ""
	if m := cppDotted().FindStringSubmatch(line); m != nil {
		name, status = strip(m[1]), Error
	}
	switch {
	case hasWord(line, cppSkipped):
		status = Skipped
	case hasWord(line, cppFailed):
		status = Failed
	case hasWord(line, cppPassed):
		status = Passed
	}
	if status != "" {
		out.set(name, status)
	}
}

// hasWord reports whether a match is between word boundaries, as Python defines them. Matches do
// not overlap.
func hasWord(line string, match func() *regexp.Regexp) bool {
	for from := 0; from < len(line); {
		at := match().FindStringIndex(line[from:])
		if at == nil {
			return false
		}
		begin, end := from+at[0], from+at[1]
		before, _ := utf8.DecodeLastRuneInString(line[:begin])
		after, _ := utf8.DecodeRuneInString(line[end:])
		if (begin == 0 || !isWord(before)) && (end == len(line) || !isWord(after)) {
			return true
		}
		from = end
	}
	return false
}
