package family

import (
	"strings"

	"batch.example/batch/grade"
	"batch.example/batch/internal/bash"
)

// script returns a bash script that runs the commands of prepare, and then the tests between the
// markers. It does not trace its commands, so that their text is not read as the result of a test.
func script(prepare, tests []string) string {
	lines := append([]string{"#!/bin/bash", "{ set +ux; } 2> /dev/null", "set +o pipefail"}, prepare...)
	lines = append(lines, "echo "+bash.Quote(grade.StartMarker("")))
	lines = append(lines, tests...)
	return strings.Join(append(lines, "echo "+bash.Quote(grade.EndMarker(""))), "\n") + "\n"
}

// needed follows a command that the tests depend on: if it fails, the script ends, and a log
// without markers is not graded.
const needed = " || exit 1"

// applyCommand returns a command that passes the exact bytes of a diff to `git apply` with options.
// With --recount, an additional empty line at the end would belong to the last hunk.
func applyCommand(options, diff string) string {
	return bash.Print([]byte(diff)) + " | git apply " + options + " -"
}

// untilOneFails returns commands that run in their own shell, which ends at the first failure.
func untilOneFails(commands []string) []string {
	return append(append([]string{"(", "set -e"}, commands...), ")")
}
