package evalscript

import (
	"path"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// markerText is what the lines around the output of the tests have in common.
const markerText = ">>>>>"

// plainPath matches the paths that mean the same to every shell and test command.
var plainPath = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_./+@-]*$`)

// CheckTests refuses, as an Instance fault, a test patch that a script cannot contain because it
// would end the text in which the patch stands, or change what the script runs: a line with
// the delimiter or a marker, a path that a shell would read as more than a word.
func CheckTests(testPatch string) error {
	for _, text := range []string{delimiter, markerText, "\x00"} {
		if strings.Contains(testPatch, text) {
			return fault.Newf(fault.Instance, "the tests contain %q, which has a meaning in eval scripts", text)
		}
	}
	for _, name := range append(Paths(testPatch), TestFiles(testPatch)...) { // the second also finds what looks like a header
		if !plainPath().MatchString(name) || slices.Contains(strings.Split(name, "/"), "..") {
			return fault.Newf(fault.Instance, "the tests are in %q: only paths of letters, digits and _./+@- can be run", name)
		}
	}
	return nil
}

// WithTests returns an eval script with testPatch in place of the row's test patch, and with
// a test command that runs the tests in it. What the row's tests are is no longer in it,
// except for the command that resets their files. An Instance fault says why that is not
// possible: the script does not contain the row's test patch as it is, or its test command names
// the row's tests in a way that is not known.
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

// otherCommand returns a test command with the tests of testPatch in place of the row's. A
// command that names none of the row's tests runs all tests, and stays.
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
