package logparse

import (
	"fmt"
	"strings"
)

var jestMarks = []mark{{"✓", Passed}, {"✕", Failed}, {"○", Skipped}}

// jest reads the output of jest --verbose: "✓ name (12 ms)". It is
// ^\s*(✓|✕|○)\s(.+?)(?:\s\((\d+\s*m?s)\))?$.
func jest(line string, in input, out *results) {
	name, status := cutMarked(strip(line), jestMarks)
	if name == "" {
		return
	}
	if open := strings.LastIndexByte(name, '('); open >= 0 && isJestTime(name[open+1:]) {
		if before, ok := cutLastSpace(name[:open]); ok && before != "" {
			name = before
		}
	}
	if in.rules != V4 {
		name = strip(name)
	}
	out.set(name, status)
}

// isJestTime is \d+\s*m?s\)$.
func isJestTime(text string) bool {
	unit, ok := cutDigits(text)
	unit = stripLeft(unit)
	return ok && (unit == "ms)" || unit == "s)")
}

// immutableJS selects the parser of one of the two known instances.
func immutableJS(log string, in input, out *results) error {
	id := in.row.InstanceID
	switch id[strings.LastIndexByte(id, '-')+1:] {
	case "2006":
		return eachLine(jest)(log, in, out)
	case "2005":
		return eachStripped(jestJSON)(log, in, out)
	}
	return fmt.Errorf("instance %q: only ids that end in -2005 or -2006 are known", id)
}

var vitestMarks = []mark{{"✓", Passed}, {"×", Failed}, {"↓", Skipped}}

// vitest reads the output of vitest --reporter=verbose: "✓ file > suite > name 12ms". It is
// ^\s*(✓|×|↓)\s(.+?)(?:\s(\d+\s*m?s?|\[skipped\]))?$.
func vitest(line string, out *results) {
	name, status := cutMarked(line, vitestMarks)
	if name == "" {
		return
	}
	before, ok := strings.CutSuffix(name, "[skipped]")
	if !ok {
		before, ok = cutLastDigits(stripRight(strings.TrimSuffix(strings.TrimSuffix(name, "s"), "m")))
	}
	if before, space := cutLastSpace(before); ok && space && before != "" {
		name = before
	}
	out.set(name, status)
}
