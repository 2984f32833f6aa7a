package grade

import (
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/swebench"
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
