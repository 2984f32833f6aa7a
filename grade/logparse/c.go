package logparse

import (
	"strings"
	"unicode"
)

var redisMarks = []mark{{"[ok]:", Passed}, {"[err]:", Failed}, {"[skip]:", Skipped}, {"[ignore]:", Skipped}}

var redisPlace = expression(`\s+in\s+\S+$`)

// redis reads "[ok]: name (12 ms)". The name of a failed test is followed by its file.
func redis(line string, out *results) {
	name, status := cutMarked(line, redisMarks)
	if name == "" {
		return
	}
	name = cutDuration(name)
	if status == Failed {
		name = redisPlace().ReplaceAllLiteralString(name, "")
	}
	out.set(name, status)
}

// cutDuration cuts `\s\(\d+\s*m?s\)` from the end, if that leaves something.
func cutDuration(name string) string {
	inner, ok := strings.CutSuffix(name, "s)")
	open := strings.LastIndexByte(inner, '(')
	if !ok || open < 0 {
		return name
	}
	number := stripRight(strings.TrimSuffix(inner[open+1:], "m"))
	before, ok := cutLastSpace(name[:open])
	if !ok || before == "" || number == "" || strings.TrimLeftFunc(number, unicode.IsDigit) != "" {
		return name
	}
	return before
}

// googletest reads "[       OK ] Suite.Name (3 ms)". It is
// `^.*\[\s*(OK|FAILED)\s*\]\s(.*)\s\(.*\)$`.
func googletest(line string, out *results) {
	if !strings.HasSuffix(line, ")") {
		return
	}
	for end := strings.LastIndexByte(line, '('); end >= 0; end = strings.LastIndexByte(line[:end], '(') {
		head, ok := cutLastSpace(line[:end])
		if !ok {
			continue
		}
		for open := strings.LastIndexByte(head, '['); open >= 0; open = strings.LastIndexByte(head[:open], '[') {
			rest, status := cutMark(stripLeft(head[open+1:]), googleMarks)
			if name, ok := cutSteps(stripLeft(rest), literal("]"), cutSpace); ok && status != "" {
				out.set(name, status)
				return
			}
		}
		return
	}
}

var googleMarks = []mark{{"OK", Passed}, {"FAILED", Failed}}
