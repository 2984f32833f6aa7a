package grade

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
)

// signatures are texts in logs that show a failure outside of the tests; the first match counts.
var signatures = []struct {
	tier, reason string
	match        func(text string) bool
}{
	{swebench.Environment, "browser_launch_failed", anyOf("Failed to launch", "Failed to connect to the bus")},
	{swebench.Environment, "display_unavailable", anyOf("cannot open display", "Missing X server", "unable to open X display")},
	{swebench.Environment, "out_of_memory", outOfMemory},
	{swebench.Environment, "container_unavailable", anyOf("Error response from daemon", "Cannot connect to the Docker daemon")},
	{swebench.Environment, "network_unreachable", anyOf("Could not resolve host", "Temporary failure in name resolution")},
	{swebench.Ambiguous, "missing_module", anyOf("Cannot find module", "MODULE_NOT_FOUND", "ModuleNotFoundError")},
	{swebench.Ambiguous, "no_tests_collected", anyOf("no tests ran", "collected 0 items")},
	{swebench.Ambiguous, "tests_timed_out", timeLimit().MatchString},
}

// Classify is the harness's classify_text: the log's explanation of a failure that may not be the
// prediction's. Several logs are joined by "\n", decoded and with "\n" as the only line end.
func Classify(text string) swebench.Failure {
	for _, s := range signatures {
		if s.match(text) {
			return swebench.Failure{Tier: s.tier, Reason: s.reason}
		}
	}
	return swebench.Failure{}
}

func anyOf(parts ...string) func(string) bool {
	return func(text string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
}

func outOfMemory(text string) bool {
	return anyOf("Cannot allocate memory", "OutOfMemoryError", "\nKilled\n")(text) ||
		text == "Killed" || strings.HasPrefix(text, "Killed\n") || strings.HasSuffix(text, "\nKilled")
}

var (
	timeLimit    = lazy.Regexp(`Timeout error: \p{Nd}+ seconds exceeded`)
	timeLimitEnd = lazy.Regexp(`\n\nTimeout error: \p{Nd}+ seconds exceeded\.$`)
)

// timedOut reports whether text ends with the harness's message about stopped tests.
func timedOut(text string) bool {
	const longest = 200
	return timeLimitEnd().MatchString(text[max(0, len(text)-longest):])
}

// absent match the lines in which shells, env, Python and make say that a program does not exist or
// cannot run; each has the program's name.
var absent = []func() *regexp.Regexp{
	lazy.Regexp(`(?m)^(?:[^\n:]+: )?(?:line )?[0-9]+: (?P<name>\S+): (?:command )?not found$`),
	lazy.Regexp(`(?m)^(?:[^\n:]+: )?line [0-9]+: (?P<name>\S+): (?:No such file or directory|Permission denied|(?:cannot execute|bad interpreter)\b.*)$`),
	lazy.Regexp(`(?m)^(?:ba|da|z)?sh: (?:[0-9]+: )?(?:[Cc]an(?:not|'t) open )?(?P<name>\S+): No such file(?: or directory)?$`),
	lazy.Regexp(`(?m)^\S*env: ['"‘]?(?P<name>[^\s'"’:]+)['"’]?: (?:No such file or directory|Permission denied)$`),
	lazy.Regexp(`(?m)^\S*python[0-9.]*: (?:No module named |can't open file )['"]?(?P<name>[^\s'"]+)`),
	lazy.Regexp(`(?m)^make(?:\[[0-9]+\])?: (?P<name>\S+): (?:No such file or directory|Permission denied|Command not found)$`),
	lazy.Regexp(`(?m)^.*\bexec: "(?P<name>[^"\n]+)": executable file not found in \$PATH`),
}

// MissingRunner returns the line of a log without results that says that a test runner is missing,
// or "": "line 6: pytest: command not found". command is the script that runs the tests. Only a
// program that it names counts, or any program if the tests' exit code says so. everywhere says
// that the tests also print outside of the markers.
//
// Tests can print such a line too, and a patch can remove the runner: the result is a reason to run
// the tests without the patch.
func MissingRunner(l Log, command string, everywhere bool) string {
	text := Decode(l.Text)
	if !everywhere {
		text, _ = l.graded(text)
	}
	code, _ := l.exitCode(Decode(l.Text))
	const most = 100 // lines of a kind: other programs may be missing before the runner
	for _, line := range absent {
		for _, m := range line().FindAllStringSubmatch(text, most) {
			if code != "126" && code != "127" && !strings.Contains(command, path.Base(m[1])) {
				continue
			}
			_, said, inScript := strings.Cut(m[0], "/eval.sh: ") // in a folder with a random name
			if !inScript {
				said = m[0]
			}
			return said
		}
	}
	return ""
}

const (
	namesShown = 3
	nameRunes  = 120
)

// why says in one line which expected tests failed.
func why(s seen, want Tests, got swebench.TestsStatus) string {
	if len(s.statuses) == 0 {
		return "the log has no test result"
	}
	var parts []string
	for _, list := range []struct {
		name   string
		want   []string
		failed []string
	}{
		{"FAIL_TO_PASS", want.FailToPass, got.FailToPass.Failure},
		{"PASS_TO_PASS", want.PassToPass, got.PassToPass.Failure},
	} {
		if n := len(list.failed); n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s not pass: %s", n, doTests(len(list.want), list.name), someNames(s, list.failed)))
		}
	}
	return strings.Join(parts, "; ")
}

// doTests returns "1 FAIL_TO_PASS test does" or "5 FAIL_TO_PASS tests do".
func doTests(n int, list string) string {
	return printable.Count(n, list+" test does", list+" tests do")
}

// someNames lists the first of the tests, each with its status.
func someNames(s seen, ids []string) string {
	var names []string
	for _, id := range ids[:min(len(ids), namesShown)] {
		status, found := s.tolerant(id)
		if !found {
			status = "not in the log"
		}
		names = append(names, fmt.Sprintf("%s (%s)", short(printable.Line(id)), short(printable.Line(status))))
	}
	if more := len(ids) - namesShown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func short(name string) string {
	if utf8.RuneCountInString(name) <= nameRunes {
		return name
	}
	return string([]rune(name)[:nameRunes-1]) + "…"
}
