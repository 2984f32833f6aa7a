package evalscript

import (
	"path"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// markerText is the common part of the lines around the output of the tests.
const markerText = ">>>>>"

// plainPath matches paths that need no quoting in any shell or test command.
var plainPath = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_./+@-]*$`)

// CheckTests returns an Instance fault if a script cannot contain the test patch, because the patch
// would end its own here-document or change the commands of the script: it has a line with the
// delimiter or a marker, or a path that a shell would read as more than a word.
func CheckTests(testPatch string) error {
	for _, text := range []string{delimiter, markerText, "\x00"} {
		if strings.Contains(testPatch, text) {
			return fault.Newf(fault.Instance, "the tests contain %q, which has a meaning in eval scripts", text)
		}
	}
	for _, name := range append(Paths(testPatch), TestFiles(testPatch)...) { // TestFiles also finds lines that look like headers
		if !plainPath().MatchString(name) || slices.Contains(strings.Split(name, "/"), "..") {
			return fault.Newf(fault.Instance, "the tests are in %q: only paths of letters, digits and _./+@- can be run", name)
		}
	}
	return nil
}

// WithTests returns an eval script with testPatch in place of the row's test patch, and with a test
// command that runs the tests of testPatch. Of the row's tests, only the command that resets their
// files remains. An Instance fault says why this is not possible: the script does not contain the
// row's test patch literally, or its test command names the row's tests in an unknown way.
func WithTests(script string, row Row, testPatch string) (string, error) {
	if err := CheckTests(testPatch); err != nil {
		return "", err
	}
	old := strings.Trim(row.TestPatch, "\n")
	if old == "" || strings.Count(script, old) != 1 {
		return "", fault.Newf(fault.Instance, "the eval script does not contain the row's test patch once, as it is")
	}
	before, after, _ := strings.Cut(script, old)
	lines := strings.SplitAfter(after, "\n")
	start := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, markerText+" Start") })
	end := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, markerText+" End") })
	if start < 0 || end < start {
		return "", fault.Newf(fault.Instance, "the eval script has no test command between markers")
	}
	command, err := otherCommand(strings.Join(lines[start+1:end], ""), row, testPatch)
	if err != nil {
		return "", err
	}
	return before + strings.Trim(testPatch, "\n") + strings.Join(lines[:start+1], "") + command + strings.Join(lines[end:], ""), nil
}

// otherCommand returns a test command with the tests of testPatch in place of the row's. A command
// that names none of the row's tests runs all tests, and stays as it is.
func otherCommand(command string, row Row, testPatch string) (string, error) {
	now := Directives(row.Repo, testPatch)
	if len(now) == 0 {
		return "", fault.Newf(fault.Instance, "there is no file that the test command could run")
	}
	if was := strings.Join(Directives(row.Repo, row.TestPatch), " "); was != "" {
		for _, end := range []string{"\n", " "} {
			if strings.Count(command, " "+was+end) == 1 {
				return strings.Replace(command, " "+was+end, " "+strings.Join(now, " ")+end, 1), nil
			}
		}
	}
	for _, name := range Paths(row.TestPatch) {
		stem, _, _ := strings.Cut(path.Base(name), ".")
		if stem != "" && strings.Contains(command, stem) {
			return "", fault.Newf(fault.Instance, "the test command names the row's tests in a way that is not known: %q in %.200q", stem, command)
		}
	}
	return command, nil
}
