package grade

import (
	"errors"
	"fmt"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

// Judge grades a log. evalType is [PassAndFail] or [FailOnly]. An error is a *[fault.Error]
// of kind Instance: the parser failed, or evalType is another one. There is no verdict then.
func Judge(l Log, parse Parse, t Tests, evalType string, r logparse.Rules) (Judgement, error) {
	check, err := checks(evalType, r)
	if err != nil {
		return Judgement{}, err
	}
	text := Decode(l.Text)
	m, err := measure(text, l, parse, r)
	if err != nil {
		return Judgement{}, err
	}
	// An evaluation of this module knows from elsewhere whether the network failed, and logs for
	// FailOnly never have most tests.
	network := l.Nonce == "" && evalType == PassAndFail
	if m.miss != nil {
		j := missed(text, m, l.Nonce)
		if j.Lost, j.Doubt = lost(text, m.seen, t, parse, network); j.Verdict != vocab.VerdictUnresolved {
			j.Doubt = "" // the verdict says what happened
		} else if said := MissingRunner(l, "", false); j.Doubt == "" && said != "" {
			j.Doubt = Missing(j.Lost, len(t.FailToPass)+len(t.PassToPass), fmt.Sprintf("the log says %q", short(printable.Line(said))))
		}
		return j, nil
	}
	tests := TestsStatus{
		FailToPass: split(t.FailToPass, m.seen, check.failToPass),
		PassToPass: split(t.PassToPass, m.seen, check.passToPass),
	}
	j := Judgement{
		Found: true, Whole: m.whole, Statuses: m.statuses, Tests: tests, Resolution: resolution(tests),
		Verdict: vocab.VerdictUnresolved, Suspicious: m.suspicious,
	}
	j.Lost, j.Doubt = lost(text, m.seen, t, parse, network)
	if j.Resolution == ResolvedFull {
		j.Resolved, j.Verdict = true, vocab.VerdictResolved
		j.Suspicious = append(j.Suspicious, contradictions(m, t, parse)...)
		return j, nil
	}
	j.Why = why(m.seen, t, tests)
	return j, nil
}

// missed is the judgement of a log without results that count.
func missed(text string, m measured, nonce string) Judgement {
	j := Judgement{
		Resolution: ResolvedNo, Verdict: m.miss.verdict, Why: m.miss.why,
		Failure: Classify(text), Suspicious: m.suspicious,
	}
	switch {
	case nonce != "":
		// The caller, who ran the script, knows from elsewhere whether the engine or the limit
		// ended it: tests must not be able to print their way out of a verdict.
	case timedOut(text):
		j.Verdict, j.Why = vocab.VerdictTimedOut, "the tests took longer than their limit"
	case j.Failure.Tier == Environment && j.Verdict != vocab.VerdictNoApply && j.Verdict != vocab.VerdictTimedOut:
		j.Verdict = vocab.VerdictInfrastructure
		j.Why += "; the log says " + j.Failure.Reason
	}
	return j
}

// parseError gives what a parser returned a blame.
func parseError(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.New(fault.Instance, "reading the test log", err)
}
