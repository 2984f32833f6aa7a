package grade

import (
	"fmt"
	"maps"
	"slices"

	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/printable"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

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
