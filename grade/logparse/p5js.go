package logparse

import (
	"strings"
	"unicode/utf8"
)

// p5JS reads the failures of a mocha report in a browser: the number, then suites and test on lines
// of growing indent up to a colon. Text that looks like JSON or XML is removed first.
func p5JS(log string, _ input, out *results) error {
	log = withoutTags(withoutJSON(stripANSI(log)))
	for pos := 0; pos < len(log); {
		// (?m)^\s*(\d+)\)(.{0,1000}?): with . for every character.
		line, _, _ := strings.Cut(log[pos:], "\n")
		if rest, ok := cutSteps(stripLeft(line), cutDigits, literal(")")); ok {
			start := pos + len(line) - len(rest)
			if length, ok := nearColon(log[start:]); ok {
				end := start + length
				if name, ok := p5Name(log[start:end]); ok {
					out.set(name, Failed)
				}
				line, _, _ = strings.Cut(log[end:], "\n")
				pos = end
			}
		}
		pos += len(line) + 1
	}
	return nil
}

// p5Name joins the lines of text. Each must be indented more than the one before.
func p5Name(text string) (name string, ok bool) {
	var parts []string
	last := 0
	for line := range lines(text) {
		indent := indentOf(line)
		if indent <= last {
			return "", false
		}
		last = indent
		parts = append(parts, strip(line))
	}
	return strings.Join(parts, ":"), true
}

// nearColon finds the first colon, if it is at most 1000 characters away.
func nearColon(text string) (at int, ok bool) {
	const far = 1000
	at = strings.IndexByte(text[:min(len(text), far*utf8.UTFMax+1)], ':')
	return at, at >= 0 && utf8.RuneCountInString(text[:at]) <= far
}

// withoutJSON removes lines that look roughly like a block of JSON.
func withoutJSON(log string) string {
	var b strings.Builder
	b.Grow(len(log))
	object, list := false, false
	for line := range lines(log) {
		text := stripRight(line)
		switch {
		case strings.HasSuffix(text, "{"):
			object = true
		case strings.HasSuffix(text, "["):
			list = true
		case text == "}" && object:
			object = false
		case text == "]" && list:
			list = false
		case object || list, isBetween(text, "{", "}"), isBetween(text, "[", "]"):
		default:
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func isBetween(text, first, last string) bool {
	return strings.HasPrefix(text, first) && strings.HasSuffix(text, last)
}
