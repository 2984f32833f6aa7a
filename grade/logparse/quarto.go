package logparse

import (
	"strconv"
	"strings"
)

// quarto reads Deno's output of smoke and unit tests, up to the failures' details. The names of
// temporary files, which differ between runs, become numbers.
func quarto(log string, _ input, out *results) error {
	files := temporaryFiles{}
	for line := range lines(log) {
		if strings.Contains(line, "ERRORS") || strings.Contains(line, "failures:") {
			return nil
		}
		if strings.Contains(line, "[smoke]") || strings.Contains(line, "[unit]") {
			quartoTest(files.number(line), out)
		}
	}
	return nil
}

func quartoTest(line string, out *results) {
	if strings.HasPrefix(line, "test result:") || strings.Contains(line, "34mINFO") ||
		strings.Contains(line, "passed") && strings.Contains(line, "failed") && strings.Contains(line, "steps") {
		return
	}
	name, _, _ := strings.Cut(line, "...")
	name = strip(name)
	switch {
	case strings.Contains(line, "32mok"):
		out.set(name, Passed)
	case strings.Contains(line, "31mFAILED") || out.statuses[name] == "":
		out.set(name, Failed)
	}
}

// temporaryFiles numbers the paths below /tmp in the order of their appearance.
type temporaryFiles map[string]int

// number applies the reference's expressions /tmp/(\w+)\.qmd and /tmp/(\w+)/, one after the other:
// every match becomes /tmp/ and the number of the first match.
func (t temporaryFiles) number(line string) string {
	return t.numberBefore(t.numberBefore(line, ".qmd"), "/")
}

func (t temporaryFiles) numberBefore(line, end string) string {
	const folder = "/tmp/"
	var b strings.Builder
	replacement, copied := "", 0
	for s := (search{text: line}); s.next(folder); {
		if !s.cut(cutWordChars, literal(end)) {
			continue
		}
		if replacement == "" {
			path := line[s.start:s.pos]
			if _, known := t[path]; !known {
				t[path] = len(t)
			}
			replacement = folder + strconv.Itoa(t[path])
		}
		b.WriteString(line[copied:s.start])
		b.WriteString(replacement)
		copied = s.pos
	}
	b.WriteString(line[copied:])
	return b.String()
}

// cutWordChars is Python's \w+.
func cutWordChars(text string) (rest string, ok bool) { return cutSome(text, isWord) }
