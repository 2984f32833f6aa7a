package grade

import (
	"path"
	"regexp"
	"strings"

	"batch.example/batch/internal/lazy"
)

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
