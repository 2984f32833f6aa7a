package logparse

import "strings"

// fullTitles finds all "fullTitle":\s"(.*)",\n and records the group.
func fullTitles(text, status string, out *results) {
	ends := lineEnds{text: text}
	for s := (search{text: text}); s.next(`"fullTitle":`); {
		if !s.cut(cutSpace, literal(`"`)) {
			continue
		}
		end := ends.after(s.pos)
		if title, ok := strings.CutSuffix(text[s.pos:end], `",`); ok && end < len(text) {
			out.set(title, status)
			s.pos = end
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
