package grade_test

import (
	"testing"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/vocab"
)

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
