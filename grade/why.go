package grade

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/printable"
	"batch.example/batch/swebench"
)

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
