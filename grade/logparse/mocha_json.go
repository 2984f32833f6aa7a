package logparse

import "strings"

// fullTitles finds all "fullTitle":\s"(.*)",\n and records the group.
func fullTitles(text, status string, out *results) {
	for s := (search{text: text}); s.next(`"fullTitle":`); {
		if !s.cut(cutSpace, literal(`"`)) {
			continue
		}
		if title, ok := strings.CutSuffix(s.line(), `",`); ok && s.pos < len(text) {
			out.set(title, status)
		}
	}
}

// afterLast is Python's text.split(sep)[-1], for a sep that cannot overlap itself.
func afterLast(text, sep string) string {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[i+len(sep):]
	}
	return text
}

// beforeLast is Python's text.rsplit(sep, 1)[0].
func beforeLast(text, sep string) string {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i]
	}
	return text
}
