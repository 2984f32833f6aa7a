package grade_test

import (
	"strings"
	"testing"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/vocab"
)

// doubtOf judges a log of three expected tests; the last one may be missing.
func doubtOf(t *testing.T, body string) grade.Judgement {
	t.Helper()
	log := ">>>>> Start Test Output\n" + body + "\n>>>>> End Test Output\n"
	return judge(t, log, words, grade.Tests{FailToPass: []string{"a"}, PassToPass: []string{"b", "c"}}, grade.PassAndFail, logparse.V5)
}

func TestALogThatLostTestsIsMarked(t *testing.T) {
	for _, sign := range []string{
		"Killed",
		"/eval.sh: line 12:   345 Killed                  pytest -rA",
		"make: *** [Makefile:3: test] Killed",
		"FAIL example.com/x 1.2s: signal: killed",
		"OSError: [Errno 28] No space left on device",
		"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
		"[... 1,204 lines omitted ...]",
		"<12345 characters elided>",
		"PASSED b PAS[35000 chars truncated]ED z",
		"PASSED b\n...(output truncated)...",
		"... skipping 1200 lines ...",
		"--- log truncated ---",
		"[snip]",
		"[...]",
		"curl: (6) Could not resolve host: pypi.org",
	} {
		j := doubtOf(t, "PASSED a\n"+sign+"\nPASSED b")
		if j.Verdict != vocab.VerdictUnresolved || j.Lost != 1 || !strings.HasPrefix(j.Doubt, "1 of 3 expected tests are not in the log, and the log says ") {
			t.Errorf("%q: %s, lost %d, doubt %q", sign, j.Verdict, j.Lost, j.Doubt)
		}
		if j := doubtOf(t, "PASSED a\n"+sign+"\nPASSED b\nFAILED c"); j.Doubt != "" {
			t.Errorf("%q with all tests: %q", sign, j.Doubt)
		}
	}
}

func TestAnHonestLogIsNotMarked(t *testing.T) {
	for _, text := range []string{
		"",
		"Killed the process",
		"E       ...Full output truncated (12 lines hidden), use '-vv' to show",
		"E         Skipping 132 identical leading characters in diff, use -v to show",
		"=== 12 skipped in 3.20s ===",
		"AssertionError: 'aaaaaaaaaaaaa [truncated]... != 'b'",
		"First differing element 0:\n'[61 chars]'",
		"\t... 23 common frames omitted",
		"12 skipped",
		"...",
		"x = [...]",
		"(3 durations < 0.005s hidden.  Use -vv to show these durations.)",
		"FAILED test_skip - the cut is 3",
	} {
		if j := doubtOf(t, "PASSED a\n"+text+"\nPASSED b"); j.Doubt != "" {
			t.Errorf("%q: %q", text, j.Doubt)
		}
	}
}

func TestALogWithoutResultsIsMarkedToo(t *testing.T) {
	if j := doubtOf(t, "write error: No space left on device"); j.Verdict != vocab.VerdictUnresolved || j.Lost != 3 || j.Doubt == "" {
		t.Errorf("%+v", j)
	}
	if j := doubtOf(t, "Killed"); j.Verdict != vocab.VerdictInfrastructure || j.Doubt != "" {
		t.Errorf("%+v", j)
	}
}

func TestResultsInAnotherFormAreSaid(t *testing.T) {
	for body, want := range map[string]string{
		"\x1b[32mPASSED\x1b[0m a\n\x1b[31mPASSED b\x1b[0m\nPASSED c":                       "2 of 3 expected tests are not in the log, and 2 are found only without the log's colors",
		"2026-01-02T03:04:05.123456789Z PASSED a\n2026-01-02T03:04:05Z FAILED b\nPASSED c": "2 of 3 expected tests are not in the log, and 2 are found only without the log's times at the beginning of its lines",
		"[03:04:05] PASSED a\nPASSED b\nPASSED c":                                          "1 of 3 expected tests are not in the log, and 1 is found only without the log's times at the beginning of its lines",
		"2026-01-02 03:04:05,678 stdout F \x1b[1mPASSED a\nPASSED b\nPASSED c":             "1 of 3 expected tests are not in the log, and 1 is found only without the log's times at the beginning of its lines",
		"\x1b[1mstart\x1b[0m\nPASSED a\nPASSED b":                                          "",
	} {
		if j := doubtOf(t, body); j.Doubt != want {
			t.Errorf("%q: %q, want %q", body, j.Doubt, want)
		}
	}
	log := grade.Log{Text: []byte(">>>>> Start Test Output\nPASSED n\xe9e\n>>>>> End Test Output\n")}
	j, err := grade.Judge(log, words, grade.Tests{FailToPass: []string{"née"}}, grade.PassAndFail, logparse.V5)
	if err != nil || j.Doubt != "1 of 1 expected test is not in the log, and it has one with bytes that are not UTF-8: née" {
		t.Errorf("%q, %v", j.Doubt, err)
	}
}
