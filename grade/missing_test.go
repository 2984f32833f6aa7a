package grade_test

import (
	"testing"

	"batch.example/batch/grade"
)

func TestAMissingTestRunnerIsNamed(t *testing.T) {
	const start, end = ">>>>> Start Test Output n\n", ">>>>> End Test Output n\n"
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		said, command string
		code          *int
		want          string
	}{
		{"/tmp/batch-x/eval.sh: line 6: pytest: command not found\n", "pytest -rA", code(127), "line 6: pytest: command not found"},
		{"sh: 1: mocha: not found\n", "npm test", code(127), "sh: 1: mocha: not found"},
		{"/opt/bin/python3: No module named pytest\n", "python3 -m pytest", code(1), "/opt/bin/python3: No module named pytest"},
		{"bash: tests/run.sh: No such file or directory\n", "bash tests/run.sh", code(127), "bash: tests/run.sh: No such file or directory"},
		{"sh: 0: cannot open run.sh: No such file\n", "sh run.sh", code(2), "sh: 0: cannot open run.sh: No such file"},
		{"env: ‘node’: No such file or directory\n", "./run", code(127), "env: ‘node’: No such file or directory"},
		{"make: pytest: No such file or directory\nmake: *** [test] Error 127\n", "make test # pytest", code(2), "make: pytest: No such file or directory"},
		{"python3: can't open file '/testbed/tests/run.py': [Errno 2] No such file or directory\n", "python3 tests/run.py", code(2), "python3: can't open file '/testbed/tests/run.py"},
		{"/tmp/batch-x/eval.sh: line 6: helper: command not found\n", "pytest -rA", code(1), ""},
		{"/tmp/batch-x/eval.sh: line 6: helper: command not found\n/tmp/batch-x/eval.sh: line 7: pytest: command not found\n", "pytest -rA || true", code(0), "line 7: pytest: command not found"},
		{"FAILED t - bash: pytest: not there\n", "pytest -rA", code(1), ""},
	} {
		l := grade.Log{Text: []byte("eval.sh: line 1: pytest: command not found\n" + start + c.said + end), Nonce: "n", ExitCode: c.code}
		if got := grade.MissingRunner(l, c.command, false); got != c.want {
			t.Errorf("%q: %q, want %q", c.said, got, c.want)
		}
	}
	before := grade.Log{Text: []byte("sh: 1: npx: not found\n" + start + end), Nonce: "n", ExitCode: code(0)}
	if got := grade.MissingRunner(before, "npx jest", true); got != "sh: 1: npx: not found" {
		t.Errorf("%q", got)
	}
}
