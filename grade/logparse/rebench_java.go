package logparse

import (
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	surefireRunning = expression(`^(?:\[INFO\]\s+)?Running\s+([A-Za-z0-9_$.]+)$`)
	surefireCounts  = expression(`Tests run:\s*(\d+),\s*Failures:\s*(\d+),\s*Errors:\s*(\d+),\s*Skipped:\s*(\d+)`)
)

// rebenchMaven reads Surefire's output: classes by their counts, methods by Maven's errors. Test
// cases of JUnit's reports in the log, and the results of parse_log_maven, count only if nothing
// else is known.
func rebenchMaven(log string, in input, out *results) error {
	running := ""
	var seen []string
	for line := range splitLines(log) {
		line = strip(line)
		if m := surefireRunning().FindStringSubmatch(line); m != nil {
			running = m[1]
			seen = append(seen, running)
			continue
		}
		if class, method, ok := mavenError(line); ok {
			status := Failed
			if strings.Contains(line, "Exception") && !strings.Contains(line, "AssertionError") {
				status = Error
			}
			out.set(class+"."+method, status)
			out.setFirst(class, Failed)
			continue
		}
		if m := surefireCounts().FindStringSubmatch(line); m != nil {
			if i := strings.LastIndex(line, " in "); i >= 0 {
				running = strings.TrimRight(strip(line[i+len(" in "):]), ".:;")
			}
			if running != "" {
				out.setFirst(running, countsStatus(m))
			}
			running = ""
		}
	}
	for _, more := range []parser{rebenchJUnit, parsers["parse_log_maven"]} {
		found := newResults(len(log))
		if err := more(log, in, found); err != nil {
			return err
		}
		for _, name := range found.order {
			out.setFirst(name, found.statuses[name])
		}
	}
	if len(out.order) == 0 {
		for _, class := range seen {
			out.set(class, Passed)
		}
	}
	return nil
}

// countsStatus returns the status of a class by its counts.
func countsStatus(m []string) string {
	switch {
	case !isZero(m[2]) || !isZero(m[3]):
		return Failed
	case !isZero(m[4]):
		return Skipped
	}
	return Passed
}

// isZero reports whether a number has only zeros as digits.
func isZero(digits string) bool { return strings.Trim(digits, "0") == "" }

// mavenError reads "[ERROR] CLASS.METHOD" at the beginning of a line. The class is as long as
// possible, and the method ends at the first end of a word.
func mavenError(line string) (class, method string, ok bool) {
	rest, ok := strings.CutPrefix(line, "[ERROR]")
	name := stripLeft(rest)
	if !ok || len(name) == len(rest) {
		return "", "", false
	}
	run := len(name)
	for i := range run {
		if !isJavaName(name[i]) {
			run = i
			break
		}
	}
	for dot := strings.LastIndexByte(name[:run], '.'); dot > 0; dot = strings.LastIndexByte(name[:dot], '.') {
		for end := dot + 2; end <= run; end++ {
			if isWordEnd(name, end) || isLine(name[end:]) {
				return name[:dot], name[dot+1 : end], true
			}
		}
	}
	return "", "", false
}

func isJavaName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c == '.'
}

// isLine reports whether text begins with a line number such as ":12", followed by the end of a
// word.
func isLine(text string) bool {
	digits, ok := strings.CutPrefix(text, ":")
	rest, some := cutDigits(digits)
	return ok && some && isWordEnd(text, len(text)-len(rest))
}

// isWordEnd reports whether Python's \b matches after the first i bytes of text; i is not 0.
func isWordEnd(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, n := utf8.DecodeRuneInString(text[i:])
	return isWord(before) != (n > 0 && isWord(after))
}

var (
	kotlinRunning = expression(`^Running\s+(.+)$`)
	kotlinCounts  = expression(`^Tests run:\s+(\d+),\s+Failures:\s+(\d+),\s+Errors:\s+(\d+),\s+Skipped:\s+(\d+)`)
)

// rebenchSurefire reads the counts of Surefire's classes.
func rebenchSurefire(log string, _ input, out *results) error {
	running := ""
	for line := range splitLines(log) {
		line = strip(line)
		if m := kotlinRunning().FindStringSubmatch(line); m != nil {
			running = m[1]
		} else if m := kotlinCounts().FindStringSubmatch(line); m != nil && running != "" {
			out.set(running, countsStatus(m))
			running = ""
		}
	}
	return nil
}

var reactorLine = findBy(rule{
	has:   "[INFO]",
	expr:  `^\[INFO\]\s+(.+?)\s+\.\.+\s+(?<word>SUCCESS|FAILURE|SKIPPED)(?:\s|\[|$)`,
	words: map[string]string{"SUCCESS": Passed, "FAILURE": Failed, "SKIPPED": Skipped},
})

// rebenchReactor reads Maven's summary of modules. The first counts of tests belong to "__suite__".
func rebenchReactor(line string, out *results) {
	if name, status, ok := reactorLine(line); ok {
		out.set(name, status)
		return
	}
	m := surefireCounts().FindStringSubmatch(line)
	switch {
	case m == nil:
	case !isZero(m[2]):
		out.setFirst("__suite__", Failed)
	case !isZero(m[3]):
		out.setFirst("__suite__", Error)
	case strings.TrimLeft(m[1], "0") == strings.TrimLeft(m[4], "0"):
		out.setFirst("__suite__", Skipped)
	default:
		out.setFirst("__suite__", Passed)
	}
}

var (
	testcaseTag = expression(`<testcase((?:[^>` + wordChars + `][^>]*)?)>`)
	xmlAttr     = expression(`(\w+)="([^"]*)"`)
)

// rebenchJUnit reads the test cases of JUnit's reports wherever they are in a log, with or
// without the rest of the report.
func rebenchJUnit(log string, _ input, out *results) error {
	const end, window = "</testcase>", 4096
	last := strings.LastIndex(log, end)
	for pos := 0; ; {
		m := testcaseTag().FindStringSubmatchIndex(log[pos:])
		if m == nil {
			return nil
		}
		tag := log[pos+m[2] : pos+m[3]]
		pos += m[1]
		attr := map[string]string{}
		for _, a := range xmlAttr().FindAllStringSubmatch(tag, -1) {
			attr[a[1]] = a[2]
		}
		if attr["name"] == "" {
			continue
		}
		content := ""
		if !strings.HasSuffix(strip(tag), "/") {
			if pos <= last {
				content, _, _ = strings.Cut(log[pos:], end)
				pos += len(content) + len(end)
			} else {
				content = firstRunes(log[pos:], window)
			}
		}
		name := attr["name"]
		if class := attr["classname"]; class != "" {
			name = strip(class + " " + name)
		}
		out.set(name, testcaseStatus(content))
	}
}

func testcaseStatus(content string) string {
	switch {
	case strings.Contains(content, "<failure"):
		return Failed
	case strings.Contains(content, "<error"):
		return Error
	case strings.Contains(content, "<skipped"):
		return Skipped
	}
	return Passed
}

// firstRunes returns at most the first n characters of text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

var (
	munitColor   = expression("\x1b\\[[0-9;]*m|\\[[0-9]{1,2}m")
	munitBare    = findBy(rule{expr: `^(?<word>[+x])\s+(.*?)\s+[` + digitChars + `.]+[mμn]?s$`, words: map[string]string{"+": Passed, "X": Failed}})
	munitColored = findBy(
		rule{has: "[32m", expr: `^\+\s+\[0m\[32m(.*?)\[0m\s+\[90m[` + digitChars + `.]+[mμn]?s\[0m$`, status: Passed},
		rule{has: "[31m", expr: `^x\s+\[0m\[31m(.*?)\[0m\s+\[90m[` + digitChars + `.]+[mμn]?s\[0m$`, status: Failed})
)

// rebenchMunit reads MUnit's output, including colors that lost their escape character. The last
// status of a test counts, and within one line a failure.
func rebenchMunit(line string, out *results) {
	name, status, ok := munitBare(strip(munitColor().ReplaceAllLiteralString(line, "")))
	if colored, word, found := munitColored(line); found && (word == Failed || status != Failed) {
		name, status, ok = colored, word, true
	}
	if ok {
		out.set(name, status)
	}
}

var (
	scalaTest  = expression(`^\[info\]\s+-\s+(.*?)(?:\s+\*{3}\s+([A-Z]+)\s+\*{3})?$`)
	scalaSuite = expression(`^\[info\]\s+([^\-].*)$`)
	scalaTime  = expression(`\s*\(\d+\s+[` + wordChars + `]+\)$`)

	scalaWords = map[string]string{"ABORTED": Error, "IGNORED": Skipped, "CANCELED": Skipped, "CANCELLED": Skipped, "PENDING": Skipped}
	scalaNoise = []string{
		"Run completed", "Total number", "Suites:", "Tests:", "All tests", "compiling", "done compiling", "loading", "welcome to", "set current",
	}
)

// rebenchScala3 reads ScalaTest's output. A name begins with the suite, which is the last other
// line. An unknown word is used as the status.
func rebenchScala3(log string, _ input, out *results) error {
	suite := ""
	for line := range splitLines(log) {
		line = strip(line)
		if !strings.HasPrefix(line, "[info] -") {
			m := scalaSuite().FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if name := strip(m[1]); name != "" && !slices.ContainsFunc(scalaNoise, func(n string) bool { return strings.Contains(name, n) }) {
				suite = name + ": "
			}
			continue
		}
		m := scalaTest().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name, status := scalaTime().ReplaceAllLiteralString(strip(m[1]), ""), m[2]
		if word, known := scalaWords[status]; known {
			status = word
		}
		if status == "" {
			status = Passed
			if _, known := out.statuses[suite+name]; known {
				continue
			}
		}
		if out.setJoined(status, suite, name); out.err != nil {
			return out.err
		}
	}
	return nil
}
