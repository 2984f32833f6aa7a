package starter

import (
	"strings"

	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/lazy"
)

// endOfPatch ends a here-document; SWE-bench's scripts use the same word.
const endOfPatch = "EOF_114329324912"

// evalScript returns the eval_script of a change: it puts the tests into the state of the change
// and runs command between the lines that SWE-bench's scripts print around test output. It is empty
// without a command, or if the tests' patch cannot be in a script.
func evalScript(c change, command string) string {
	if command == "" || strings.Contains(c.testPatch, "\x00") || strings.Contains("\n"+c.testPatch, "\n"+endOfPatch+"\n") {
		return ""
	}
	reset := ""
	if old := oldFiles(c.testPatch); len(old) > 0 {
		reset = "git checkout " + c.parent + " -- " + strings.Join(old, " ") + "\n"
	}
	apply := ""
	if c.testPatch != "" {
		apply = "git apply -v - <<'" + endOfPatch + "'\n" + c.testPatch + endOfPatch + "\n"
	}
	return "#!/bin/bash\nset -uxo pipefail\ncd /testbed\ngit config --global --add safe.directory /testbed\n" + reset + apply +
		": '>>>>> Start Test Output'\n" + command + "\n: '>>>>> End Test Output'\n" + reset
}

// plainName matches names that a shell does not interpret.
var plainName = lazy.Regexp(`^[\w./@+-]+$`)

// oldFiles returns the files whose lines a patch changes or deletes. It leaves out names that a
// shell would interpret: grading itself resets all files of the test patch.
func oldFiles(patch string) []string {
	var names []string
	for _, f := range diff.Read(patch) {
		if name := diff.Trim(f.Old); len(f.Hunks) > 0 && plainName().MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}
