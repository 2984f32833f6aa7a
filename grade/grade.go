package grade

import (
	"batch.example/batch/grade/logparse"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// The ways to check the lists of expected tests, as in a row's column eval_type.
const (
	// PassAndFail: a test that must pass has to be in the log as passed.
	PassAndFail = "pass_and_fail"
	// FailOnly is for test runners that name only failed tests: a test passes unless the log says
	// that it failed.
	FailOnly = "fail_only"
)

// Tests are the ids of the deciding tests, as in the row: in its order, and never trimmed, since
// some begin or end with white space.
type Tests struct {
	FailToPass []string // have to pass now
	PassToPass []string // must not break
}

// Resolution says how much of the issue a prediction resolves, in the harness's words.
type Resolution string

// The resolutions.
const (
	ResolvedFull    Resolution = "RESOLVED_FULL"    // all tests
	ResolvedPartial Resolution = "RESOLVED_PARTIAL" // some FAIL_TO_PASS tests, all PASS_TO_PASS tests
	ResolvedNo      Resolution = "RESOLVED_NO"
)

// Log is the output of the eval script, and separate knowledge about it.
type Log struct {
	// Text is the complete output, as bytes. Judge decodes it as the harness does: bytes that are
	// not UTF-8 become U+FFFD, "\r\n" and "\r" become "\n".
	Text []byte
	// ExitCode is the exit code of the test command, if known from elsewhere than the text. If it
	// is nil, it is read from the text, as in the harness.
	ExitCode *int
	// Nonce is the nonce of [StartMarker] and [EndMarker] in the script. It is empty for the log of
	// another tool, which has the harness's markers.
	Nonce string
	// OnlyMarked says that results count only between the markers. Otherwise, as in the harness,
	// the whole log is read if there are none between them.
	OnlyMarked bool
}

// Parse reads statuses from a log or a part of it. order has the names in the order of their first
// occurrence; it may be nil if unknown. An error that is a *fault.Error is passed on unchanged.
type Parse func(log string) (statuses logparse.Statuses, order []string, err error)

// Judgement is the result of grading a log.
type Judgement struct {
	// Found says that the log could be graded; reports call it patch_successfully_applied. If it is
	// false, only Why, Failure, Verdict, Doubt, Lost and Suspicious are set.
	Found bool
	// Whole says that the results come from the whole log, since there were none between the
	// markers. In SWE-bench's logs of Modal, the tests' standard output comes before the markers.
	Whole      bool
	Statuses   logparse.Statuses
	Tests      swebench.TestsStatus
	Resolution Resolution
	Resolved   bool // Resolution is ResolvedFull
	// Verdict is the outcome by blame.
	Verdict vocab.Verdict
	// Why explains to a person in one line why the prediction does not resolve its instance: "2 of
	// 5 FAIL_TO_PASS tests fail: a, b". It is empty if it does.
	Why     string
	Failure swebench.Failure
	// Doubt says in one line why the tests' verdict may be wrong without any manipulation: expected
	// tests are missing, and the log says that something may have stopped them or that a part of it
	// was removed. It is "" for most logs.
	Doubt string
	Lost  int // expected tests that are not in the log
	// Suspicious has one line for everything in the log that looks like an attempt to manipulate
	// the verdict.
	Suspicious []string
}

// Report returns the judgement as the report.json of an instance.
func (j Judgement) Report(instance string, r logparse.Rules) swebench.Report {
	return swebench.Report{
		InstanceID: instance, Found: j.Found, Resolved: j.Resolved, Failure: j.Failure, Tests: j.Tests, V4: r == logparse.V4,
	}
}
