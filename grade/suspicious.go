package grade

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
)

// suspicions looks for texts that only the eval script should print.
func (l Log) suspicions(text, graded string) []string {
	if l.Nonce != "" {
		return ownSuspicions(graded, l.Nonce)
	}
	return foreignSuspicions(text)
}

// ownSuspicions searches the graded part, where the script prints nothing.
func ownSuspicions(graded, nonce string) []string {
	var found []string
	for _, own := range []string{StartMarker(nonce), EndMarker(nonce)} {
		if repeated(graded, own) {
			found = append(found, fmt.Sprintf("the tests printed the marker of this evaluation %q", own))
		}
		graded = strings.ReplaceAll(graded, own, "")
	}
	texts := []string{startText, endText, exitCodeText}
	for _, r := range refusals {
		texts = append(texts, r.text)
	}
	for _, official := range texts {
		if strings.Contains(graded, official) {
			found = append(found, fmt.Sprintf("the tests printed %q, which the official harness takes as its own", official))
		}
	}
	return found
}

// foreignSuspicions looks for repetitions of a text that the script prints once, since the
// harness's choice of a part or an exit code depends on it.
func foreignSuspicions(text string) []string {
	var found []string
	for _, m := range []string{startText, endText} {
		if _, after, ok := strings.Cut(text, m); ok && repeated(after, m) {
			found = append(found, fmt.Sprintf("the log has %q more than once", m))
		}
	}
	first, rest, ok := cutExitCode(text)
	for ok {
		var code string
		if code, rest, ok = cutExitCode(rest); ok && code != first {
			return append(found, fmt.Sprintf("the log has the exit codes %s and %s: the first counts", first, code))
		}
	}
	return found
}

// repeated reports whether text has a marker other than at its very beginning or end, where
// bash's trace of an echo puts the same marker twice in a row.
func repeated(text, marker string) bool {
	const quotes = "'\"\n"
	text = strings.TrimPrefix(strings.TrimLeft(text, quotes), marker)
	text = strings.TrimSuffix(strings.TrimRight(text, quotes), marker)
	return strings.Contains(text, marker)
}

// mayFail matches the lines in which a parser may find a failed test.
var mayFail = anyOf("FAIL", "Fail", "fail", "ERR", "rror", "not ok", " F", " E", "✕", "✖", "✗", "✘", "×")

// progress is pytest's display of its progress.
var progress = lazy.Regexp(`^\[ *[0-9]+%\]$`)

// IsProgress reports whether a test's id is really pytest's progress, as in "PASSED [100%]": rows
// of pytest's own repository have such ids, and logs have any result for them.
func IsProgress(id string) bool { return progress().MatchString(id) }

// failingLines separates the lines in which a parser may find a failed test.
func failingLines(part string) (failing, others string) {
	var in, out strings.Builder
	for line := range strings.Lines(part) {
		if mayFail(line) {
			in.WriteString(line)
		} else {
			out.WriteString(line)
		}
	}
	return in.String(), out.String()
}

func fails(status string) bool { return status == logparse.Failed || status == logparse.Error }

// contradictions looks for expected tests that the log has both as failed and as passed. The last
// line about a test counts, so that later output can replace the results, and where a runner prints
// a result behind the output of its test, the test itself can print it.
func contradictions(m measured, t Tests, parse Parse) []string {
	failing, _ := failingLines(m.part)
	failed, _, err := parse(failing)
	if err != nil { // the parser cannot read a part of a log
		failed = nil
	}
	reported := reports(m.part)
	var both []string
	for _, ids := range [][]string{t.FailToPass, t.PassToPass} {
		for _, id := range ids {
			if !IsProgress(id) && (fails(failed[id]) || reported[id]) && Passes(m.statuses[id]) {
				both = append(both, id)
			}
		}
	}
	if len(both) == 0 {
		return nil
	}
	return []string{"the log has tests first as failed and then as passed: " + someNames(m.seen, both)}
}

// heading matches the first line of a runner's report about a failed test: of unittest, below a
// line and with what tells a test's parts apart at its end, or of sympy's runner.
var heading = lazy.Regexp(`(?m)^={70}\r?\n(?:FAIL|ERROR): (.+?\)|\S+)(?: [\[(].*)?\r?\n(.*)|^_{3,} \S*\.py:(\S+) _{3,}\r?$`)

// hasHeading finds the words that each heading has, in less time than headings.
var hasHeading = anyOf("\nFAIL: ", "\nERROR: ", "___ ")

// reports returns the names of the tests that have a report of their failure. A name is as in the
// line of the test's result: unittest has the first line of a test's documentation there, which is
// below the heading of a report.
func reports(part string) map[string]bool {
	names := map[string]bool{}
	if !hasHeading(part) {
		return names
	}
	for _, m := range heading().FindAllStringSubmatch(part, -1) {
		for _, name := range m[1:] {
			names[strings.TrimSpace(name)] = true
		}
	}
	delete(names, "")
	return names
}

// excused looks for tests that should fail without the solution and pass with it, but that now fail
// as expected: an expected failure counts as passed, and code can declare one while a test calls it.
func excused(s seen, t Tests) []string {
	var ids []string
	for _, id := range t.FailToPass {
		if status, _ := s.tolerant(id); status == logparse.XFail {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return []string{"tests that should pass failed as expected failures: " + someNames(s, ids)}
}

var (
	color = lazy.Regexp("\x1b\\[[0-9;:?]*[ -/]*[@-~]")
	clock = lazy.Regexp(`(?m)^\[?(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?\]?(?: std(?:out|err) [FP])?(?: [-|]|:)?[ \t]`)
)

// disguised returns a reason why expected tests that the log contains are not found: the program
// that writes a log may put colors or times before their results, which parsers do not expect (nor
// do the harness's), or write names in another encoding. It returns "" if there is no such reason.
func disguised(text string, s seen, t Tests, parse Parse) string {
	for _, cover := range []struct {
		match *regexp.Regexp
		name  string
	}{{color(), "colors"}, {clock(), "times at the beginning of its lines"}} {
		bare := cover.match.ReplaceAllLiteralString(text, "")
		if len(bare) == len(text) {
			continue
		}
		if n := more(bare, s, t, parse); n > 0 {
			return fmt.Sprintf("%s only without the log's %s", printable.Count(n, "is found", "are found"), cover.name)
		}
		text = bare
	}
	for name := range s.statuses {
		if strings.ContainsRune(name, utf8.RuneError) {
			if id := damaged(name, s, t); id != "" {
				return fmt.Sprintf("it has one with bytes that are not UTF-8: %s", short(printable.Line(id)))
			}
		}
	}
	return ""
}

// more returns how many expected tests text has that s lacks.
func more(text string, s seen, t Tests, parse Parse) (n int) {
	statuses, order, err := parse(text)
	if err != nil { // the parser cannot read a changed log
		return 0
	}
	bare := seen{statuses, order}
	for _, ids := range [][]string{t.FailToPass, t.PassToPass} {
		for _, id := range ids {
			if _, found := s.tolerant(id); found {
				continue
			}
			if _, found := bare.tolerant(id); found {
				n++
			}
		}
	}
	return n
}

// damaged returns an expected test that the log lacks and that matches name, where U+FFFD in name
// stands for any characters.
func damaged(name string, s seen, t Tests) string {
	pieces := strings.FieldsFunc("^"+name+"$", func(r rune) bool { return r == utf8.RuneError })
	for _, ids := range [][]string{t.FailToPass, t.PassToPass} {
		for _, id := range ids {
			if _, found := s.exact(id); !found && fits("^"+id+"$", pieces) {
				return id
			}
		}
	}
	return ""
}

// fits reports whether text consists of the pieces with something between every two.
func fits(text string, pieces []string) bool {
	rest, ok := strings.CutPrefix(text, pieces[0])
	for _, piece := range pieces[1:] {
		if !ok || rest == "" {
			return false
		}
		_, n := utf8.DecodeRuneInString(rest)
		_, rest, ok = strings.Cut(rest[n:], piece)
	}
	return ok && rest == ""
}
