package grade

import (
	"batch.example/batch/grade/logparse"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// The ways in which the lists of expected tests are checked, the values of a row's column
// eval_type.
const (
	// PassAndFail: a test that must pass has to be in the log, and to have passed.
	PassAndFail = "pass_and_fail"
	// FailOnly is for test runners that name failed tests only: a test passes unless the
	// log says that it failed.
	FailOnly = "fail_only"
)

// Tests are the ids of the tests that decide, as the row has them: in its order, and never
// trimmed, since some begin or end with white space.
type Tests struct {
	FailToPass []string // have to pass now
	PassToPass []string // must not break
}

// Resolution is how much of the issue a prediction resolves, in the harness's words.
type Resolution string

// The resolutions.
const (
	ResolvedFull    Resolution = "RESOLVED_FULL"    // all tests
	ResolvedPartial Resolution = "RESOLVED_PARTIAL" // some FAIL_TO_PASS tests, all PASS_TO_PASS tests
	ResolvedNo      Resolution = "RESOLVED_NO"
)

// Log is what running the eval script printed, and what is known about it from elsewhere.
type Log struct {
	// Text is everything that was printed, as bytes. Judge decodes it as the harness does:
	// bytes that are not UTF-8 become U+FFFD, "\r\n" and "\r" become "\n".
	Text []byte
	// ExitCode is the exit code of the test command, known from elsewhere than the text.
	// If it is nil, it is read from the text, as the harness does.
	ExitCode *int
	// Nonce is that of [StartMarker] and [EndMarker] in the script. It is empty for the
	// log of another tool, which has the harness's markers.
	Nonce string
	// OnlyMarked says that results count only between the markers. Otherwise, as in the
	// harness, the whole log is read if there is none between them.
	OnlyMarked bool
}

// Parse reads statuses out of a log or a part of it. order has the names in the order in
// which the log first has them; it may be nil if that is not known. An error that is a
// *fault.Error is passed on as it is.
type Parse func(log string) (statuses logparse.Statuses, order []string, err error)

// Judgement is what a log says about a prediction.
type Judgement struct {
	// Found says that the log could be graded. A report has it as
	// patch_successfully_applied. If it is false, only Why, Failure, Verdict,
	// Doubt, Lost and Suspicious have a value.
	Found bool
	// Whole says that the results were looked for in the whole log, since there were none
	// between the markers. SWE-bench's logs of Modal have what tests print to standard output
	// before them.
	Whole      bool
	Statuses   logparse.Statuses
	Tests      swebench.TestsStatus
	Resolution Resolution
	Resolved   bool // Resolution is ResolvedFull
	// Verdict is the outcome by blame.
	Verdict vocab.Verdict
	// Why says for a person why the prediction does not resolve its instance, in one line:
	// "2 of 5 FAIL_TO_PASS tests fail: a, b". It is empty if it does.
	Why     string
	Failure swebench.Failure
	// Doubt says in one line why a verdict of the tests may be wrong although nobody meant to
	// decide it: expected tests are not in the log, and the log says what may have stopped them,
	// or that a part of it was taken out. It is "" for most logs.
	Doubt string
	Lost  int // expected tests that are not in the log
	// Suspicious has one line for everything in the log that looks like an attempt to
	// decide the verdict.
	Suspicious []string
}

// Report is the report.json of an instance with the judgement.
func (j Judgement) Report(instance string, r logparse.Rules) swebench.Report {
	return swebench.Report{
		InstanceID: instance, Found: j.Found, Resolved: j.Resolved, Failure: j.Failure, Tests: j.Tests, V4: r == logparse.V4,
	}
}
