package evaluate_test

import (
	"strings"
	"testing"

	"batch.example/batch/grade"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/logparse"
)

// doubts returns the judgement and the doubts for a saved log of one expected test, by the rules of
// SWE-bench.
func doubts(t *testing.T, log, id string) (grade.Judgement, []string) {
	t.Helper()
	parse := func(log string) (logparse.Statuses, []string, error) {
		return logparse.Parse("parse_log_pytest", log, logparse.Row{}, logparse.V5)
	}
	l := grade.Log{Text: []byte(log)}
	j, err := grade.Judge(l, parse, grade.Tests{FailToPass: []string{id}}, grade.PassAndFail, logparse.V5)
	if err != nil {
		t.Fatal(err)
	}
	script := "cd /testbed\n: '>>>>> Start Test Output'\npytest -rA\n: '>>>>> End Test Output'\n"
	return j, append(j.Suspicious, evaluate.Doubts([]byte("+x = 1\n"), nil, script, l, j, parse)...)
}

// Modal's logs have all standard output first, and then the standard error.
func TestALogOfModalIsNotSuspicious(t *testing.T) {
	const output = "PASSED t.py::a\n===== 1 passed in 0.10s =====\n"
	const trace = "+ cd /testbed\n+ : '>>>>> Start Test Output'\n+ pytest -rA\n+ : '>>>>> End Test Output'\n"
	if j, list := doubts(t, output+trace, "t.py::a"); !j.Resolved || len(list) > 0 {
		t.Errorf("resolved %v, %q", j.Resolved, list)
	}
	// Its summary is still needed, last, and not printed by the commands before.
	const before = "+ cd /testbed\n"
	for _, log := range []string{before + output + trace, "PASSED t.py::a\n" + trace, "===== 1 passed in 0.10s =====\nPASSED t.py::a\n" + trace} {
		if j, list := doubts(t, log, "t.py::a"); !j.Resolved || len(list) != 1 {
			t.Errorf("resolved %v, %q", j.Resolved, list)
		}
	}
}

func TestAProgressThatARowTakesForATestIsNotSuspicious(t *testing.T) {
	body := "t.py::a FAILED [100%]\nFAILED [100%]\nPASSED [100%]\n===== 1 passed in 0.10s =====\nPASSED [100%]\n"
	log := ">>>>> Start Test Output\n" + body + ">>>>> End Test Output\n"
	if j, list := doubts(t, log, "[100%]"); !j.Resolved || len(list) > 0 {
		t.Errorf("resolved %v, %q", j.Resolved, list)
	}
	if j, list := doubts(t, strings.ReplaceAll(log, "[100%]", "t.py::b"), "t.py::b"); !j.Resolved || len(list) < 2 {
		t.Errorf("resolved %v, %q", j.Resolved, list)
	}
}

// Logs of releases 2.0 to 2.1.7 of the harness have no markers.
func TestAnOldLogIsNotSuspicious(t *testing.T) {
	const log = "Applied patch t.py cleanly.\n+ pytest -rA\nPASSED t.py::a\n===== 1 passed in 0.10s =====\n"
	if j, list := doubts(t, log, "t.py::a"); !j.Resolved || len(list) > 0 {
		t.Errorf("resolved %v, %q", j.Resolved, list)
	}
	if j, list := doubts(t, log+"PASSED t.py::a\n", "t.py::a"); !j.Resolved || len(list) != 1 {
		t.Errorf("resolved %v, %q", j.Resolved, list)
	}
}
