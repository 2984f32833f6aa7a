package grade

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
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

// Judge grades a log. evalType is [PassAndFail] or [FailOnly]. An error is a *[fault.Error] of kind
// Instance: the parser failed, or evalType is unknown. Then there is no verdict.
func Judge(l Log, parse Parse, t Tests, evalType string, r logparse.Rules) (Judgement, error) {
	reading, err := Read(l, parse, evalType, r)
	if err != nil {
		return Judgement{}, err
	}
	return reading.Judge(t), nil
}

// parseError makes a parser's error a fault.
func parseError(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.New(fault.Instance, "reading the test log", err)
}

// Reading is a parsed log, for any deciding tests.
type Reading struct {
	log   Log
	text  string
	parse Parse
	check listChecks
	// network says that the log may show a failure of the network. An evaluation of this module
	// knows this from elsewhere, and logs for FailOnly never have most tests.
	network bool
	measured
}

// Read parses a log. evalType is [PassAndFail] or [FailOnly]. An error is a *[fault.Error] of kind
// Instance: the parser failed, or evalType is unknown.
func Read(l Log, parse Parse, evalType string, r logparse.Rules) (*Reading, error) {
	check, err := checks(evalType, r)
	if err != nil {
		return nil, err
	}
	text := Decode(l.Text)
	m, err := measure(text, l, parse, r)
	if err != nil {
		return nil, err
	}
	return &Reading{log: l, text: text, parse: parse, check: check, network: l.Nonce == "" && evalType == PassAndFail, measured: m}, nil
}

// Judge grades the log by the given tests.
func (r *Reading) Judge(t Tests) Judgement {
	if r.miss != nil {
		return r.missed(t)
	}
	tests := swebench.TestsStatus{
		FailToPass: split(t.FailToPass, r.seen, r.check.failToPass),
		PassToPass: split(t.PassToPass, r.seen, r.check.passToPass),
	}
	j := Judgement{
		Found: true, Whole: r.whole, Statuses: r.statuses, Tests: tests, Resolution: resolution(tests),
		Verdict: vocab.VerdictUnresolved, Suspicious: slices.Clone(r.suspicious),
	}
	j.Lost, j.Doubt = lost(r.text, r.seen, t, r.parse, r.network)
	if j.Resolution == ResolvedFull {
		j.Resolved, j.Verdict = true, vocab.VerdictResolved
		j.Suspicious = append(j.Suspicious, contradictions(r.measured, t, r.parse)...)
		j.Suspicious = append(j.Suspicious, excused(r.seen, t)...)
		return j
	}
	j.Why = why(r.seen, t, tests)
	return j
}

// missed returns the judgement of a log without results that count.
func (r *Reading) missed(t Tests) Judgement {
	j := Judgement{
		Resolution: ResolvedNo, Verdict: r.miss.verdict, Why: r.miss.why,
		Failure: Classify(r.text), Suspicious: slices.Clone(r.suspicious),
	}
	switch {
	case r.log.Nonce != "":
		// The caller, who ran the script, knows whether the engine or the limit ended it: tests
		// must not be able to avoid a verdict by their output.
	case timedOut(r.text):
		j.Verdict, j.Why = vocab.VerdictTimedOut, "the tests took longer than their limit"
	case j.Failure.Tier == swebench.Environment && j.Verdict != vocab.VerdictNoApply && j.Verdict != vocab.VerdictTimedOut:
		j.Verdict = vocab.VerdictInfrastructure
		j.Why += "; the log says " + j.Failure.Reason
	}
	if j.Lost, j.Doubt = lost(r.text, r.seen, t, r.parse, r.network); j.Verdict != vocab.VerdictUnresolved {
		j.Doubt = "" // the verdict already explains it
	} else if said := MissingRunner(r.log, "", false); j.Doubt == "" && said != "" {
		j.Doubt = Missing(j.Lost, len(t.FailToPass)+len(t.PassToPass), fmt.Sprintf("the log says %q", short(printable.Line(said))))
	}
	return j
}

// Results returns all statuses in the log, including ones that do not count, and the names that are
// both failed and passed tests, sorted: tests in two files with the same name, for example. The
// last line about a name counts, so that its status may describe either of them. An error comes
// from the parser.
func (r *Reading) Results() (statuses logparse.Statuses, several []string, err error) {
	statuses, part := r.statuses, r.part
	if r.unread != "" {
		part = r.unread
		if statuses, _, err = r.parse(part); err != nil {
			return nil, nil, parseError(err)
		}
	}
	failing, others := failingLines(part)
	failed, _, err := r.parse(failing)
	if err != nil { // the parser cannot read a part of a log
		return statuses, nil, nil
	}
	passed, _, err := r.parse(others)
	if err != nil {
		return statuses, nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		// In pytest, ERROR beside PASSED is one test that failed during its clean-up.
		if failed[name] == logparse.Failed && Passes(passed[name]) && !IsProgress(name) {
			several = append(several, name)
		}
	}
	return statuses, several, nil
}
