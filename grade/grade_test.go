package grade_test

import (
	"slices"
	"strings"
	"testing"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/vocab"
)

// words parses lines "STATUS name".
func words(log string) (logparse.Statuses, []string, error) {
	statuses, order := logparse.Statuses{}, []string(nil)
	for line := range strings.SplitSeq(log, "\n") {
		status, name, ok := strings.Cut(line, " ")
		if ok && slices.Contains([]string{"PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL"}, status) {
			statuses[name] = status
			order = append(order, name)
		}
	}
	return statuses, order, nil
}

func TestNothingThatTestsPrintEndsAGradedPartWithANonce(t *testing.T) {
	one := 1
	const nonce = "5e1f"
	text := "+ : '" + grade.StartMarker(nonce) + "'\n" +
		"PASSED a\n>>>>> End Test Output\n" + grade.EndMarker(nonce) + "\n>>>>> Test Exit Code: 0\n>>>>> Tests Timed Out\n" +
		"FAILED b\n+ : '" + grade.EndMarker(nonce) + "'\n"
	j, err := grade.Judge(grade.Log{Text: []byte(text), ExitCode: &one, Nonce: nonce}, words,
		grade.Tests{FailToPass: []string{"a", "b"}}, grade.PassAndFail, logparse.V5)
	if err != nil {
		t.Fatal(err)
	}
	if !j.Found || j.Verdict != vocab.VerdictUnresolved || j.Resolution != grade.ResolvedPartial {
		t.Errorf("%+v", j)
	}
	if j.Why != "1 of 2 FAIL_TO_PASS tests do not pass: b (FAILED)" {
		t.Errorf("why: %s", j.Why)
	}
	if len(j.Suspicious) != 4 {
		t.Errorf("suspicious: %q", j.Suspicious)
	}
}

// A judgement by some tests does not change the judgement by others.
func TestALogIsReadOnceForAnyTests(t *testing.T) {
	const nonce = "5e1f"
	text := grade.StartMarker(nonce) + "\nPASSED a\nFAILED b\n>>>>> Tests Errored\n" + grade.EndMarker(nonce) + "\n"
	parsed := 0
	parse := func(log string) (logparse.Statuses, []string, error) {
		parsed++
		return words(log)
	}
	reading, err := grade.Read(grade.Log{Text: []byte(text), Nonce: nonce}, parse, grade.PassAndFail, logparse.V5)
	if err != nil {
		t.Fatal(err)
	}
	for _, fixed := range []string{"b", "c", "b"} {
		if j := reading.Judge(grade.Tests{FailToPass: []string{"a", fixed}}); j.Resolution != grade.ResolvedPartial || len(j.Suspicious) != 1 {
			t.Errorf("a and %s: %+v", fixed, j)
		}
	}
	if parsed != 1 {
		t.Errorf("parsed %d times, want once", parsed)
	}
	if j := reading.Judge(grade.Tests{FailToPass: []string{"a"}}); !j.Resolved {
		t.Errorf("a: %+v", j)
	}
}

func TestWhatIsPrintedIsNoInfrastructureFailureWithANonce(t *testing.T) {
	const said = "WARNING: Temporary failure in name resolution\nCannot connect to the Docker daemon\nKilled\n"
	for nonce, want := range map[string]vocab.Verdict{"5e1f": vocab.VerdictUnresolved, "": vocab.VerdictInfrastructure} {
		text := said + grade.StartMarker(nonce) + "\nImportError: x\n" + grade.EndMarker(nonce) + "\n"
		j, err := grade.Judge(grade.Log{Text: []byte(text), Nonce: nonce}, words, grade.Tests{FailToPass: []string{"a"}}, grade.PassAndFail, logparse.V5)
		if err != nil || j.Found || j.Verdict != want || j.Failure.Reason != "out_of_memory" {
			t.Errorf("nonce %q: %+v, %v", nonce, j, err)
		}
	}
}

func TestAFailureThatLaterPassesIsSuspicious(t *testing.T) {
	for text, want := range map[string]int{
		"PASSED a\nFAILED b\n1 failed\nPASSED b\n": 1,
		"PASSED a\nERROR b\nPASSED b\n":            1,
		"PASSED a\nPASSED b\nFAILED c\n":           0, // no expected test
		"FAILED other\nPASSED a\nPASSED b\n":       0,
	} {
		zero := 0
		log := grade.Log{Text: []byte(grade.StartMarker("5e1f") + "\n" + text + grade.EndMarker("5e1f") + "\n"), ExitCode: &zero, Nonce: "5e1f"}
		j, err := grade.Judge(log, words, grade.Tests{FailToPass: []string{"b"}, PassToPass: []string{"a"}}, grade.PassAndFail, logparse.V5)
		if err != nil || !j.Resolved || len(j.Suspicious) != want {
			t.Errorf("%q: resolved %v, suspicious %q, %v", text, j.Resolved, j.Suspicious, err)
		}
	}
}

// A test prints its own result before the runner does. The report of its failure stays.
func TestAReportedFailureThatPassesIsSuspicious(t *testing.T) {
	line := strings.Repeat("=", 70) + "\n"
	for name, c := range map[string]struct {
		parser, id, text string
		want             int
	}{
		"django":             {"parse_log_django", "test_a (m.T.test_a)", "test_a (m.T.test_a) ... ok\nFAIL\n" + line + "FAIL: test_a (m.T.test_a)\n", 1},
		"an error":           {"parse_log_django", "test_a (m.T)", "test_a (m.T) ... ok\nERROR\n" + line + "ERROR: test_a (m.T)\n", 1},
		"a part of a test":   {"parse_log_django", "test_a (m.T)", "test_a (m.T) ... ok\n" + line + "FAIL: test_a (m.T) (i=1)\n", 1},
		"with documentation": {"parse_log_django", "It adds.", "test_a (m.T)\nIt adds. ... ok\nFAIL\n" + line + "FAIL: test_a (m.T)\nIt adds.\n", 1},
		"another test":       {"parse_log_django", "test_a (m.T)", "test_a (m.T) ... ok\ntest_a (m.U) ... FAIL\n" + line + "FAIL: test_a (m.U)\n", 0},
		"what a test prints": {"parse_log_django", "test_a (m.T)", "test_a (m.T) ... FAIL: test_a (m.T)\nok\n", 0},
		"sympy":              {"parse_log_sympy", "test_a", "test_a ok\nF\n____ sympy/core/tests/test_b.py:test_a ____\n", 1},
		"sympy, another":     {"parse_log_sympy", "test_a", "test_a ok\ntest_b F\n____ sympy/core/tests/test_b.py:test_b ____\n", 0},
		"excused":            {"parse_log_pytest", "t.py::a", "XFAIL t.py::a - later\n", 1},
	} {
		zero := 0
		parse := func(log string) (logparse.Statuses, []string, error) {
			return logparse.Parse(c.parser, log, logparse.Row{}, logparse.V5)
		}
		log := grade.Log{Text: []byte(grade.StartMarker("5e1f") + "\n" + c.text + grade.EndMarker("5e1f") + "\n"), ExitCode: &zero, Nonce: "5e1f"}
		j, err := grade.Judge(log, parse, grade.Tests{FailToPass: []string{c.id}}, grade.PassAndFail, logparse.V5)
		if err != nil || !j.Resolved || len(j.Suspicious) != c.want {
			t.Errorf("%s: resolved %v, suspicious %q, %v", name, j.Resolved, j.Suspicious, err)
		}
	}
}

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

// Logs of releases 2.0 to 2.1.7 of the harness have no markers: git's message about the test patch
// is used instead.
func TestLogsWithoutMarkersAreGradedByTheirRule(t *testing.T) {
	const apply = "+ git apply -v -\nChecking patch t.py...\nApplied patch t.py cleanly.\n"
	for _, c := range []struct {
		name, log string
		want      vocab.Verdict
		found     bool
	}{
		{"passes", apply + "+ pytest -rA\nPASSED a\nPASSED b\n+ git checkout x t.py\n", vocab.VerdictResolved, true},
		{"fails", apply + "+ pytest -rA\nFAILED a\nPASSED b\n", vocab.VerdictUnresolved, true},
		{"has no results", apply + "+ pytest -rA\nImportError: x\n", vocab.VerdictUnresolved, true},
		{"without a trace", "Applied patch t.py cleanly.\nPASSED a\nPASSED b\n", vocab.VerdictResolved, true},
		{"of a later release, cut", apply + "+ : '>>>>", vocab.VerdictUngradeable, false},
		{"without a test patch", "+ pytest -rA\nPASSED a\nPASSED b\n", vocab.VerdictUngradeable, false},
		{"late", apply + "+ pytest -rA\nPASSED a\n\n\nTimeout error: 60 seconds exceeded.", vocab.VerdictTimedOut, false},
		{"refused", apply + "+ pytest -rA\nPASSED a\nPASSED b\n>>>>> Patch Apply Failed\n", vocab.VerdictNoApply, false},
		{"not reset", apply + "Failed to reset task environment\nPASSED a\nPASSED b\n", vocab.VerdictInfrastructure, false},
		{"of a log before 2.0", "PASSED z\nFAILED a\n>>>>> Applied Patch (test)\n>>>>> Applied Patch (pred)\nPASSED a\nPASSED b\n", vocab.VerdictResolved, true},
	} {
		j := judge(t, c.log, words, grade.Tests{FailToPass: []string{"a"}, PassToPass: []string{"b"}}, grade.PassAndFail, logparse.V4)
		if j.Verdict != c.want || j.Found != c.found || len(j.Suspicious) > 0 {
			t.Errorf("%s: %s, found %v, %q", c.name, j.Verdict, j.Found, j.Suspicious)
		}
	}
}
