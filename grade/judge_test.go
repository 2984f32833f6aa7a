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
