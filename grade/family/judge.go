package family

import (
	"context"
	"fmt"
	"strings"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/vocab"
)

// rule sorts the expected tests by the statuses in a log. It is a pure function.
type rule func(logparse.Statuses, grade.Tests) outcome

// outcome is the result of a rule.
type outcome struct {
	failToPass, passToPass swebench.Split
	resolved               bool
	why                    string // if not resolved, for a person; "" is derived from the lists
}

// Judge grades the output of the task's script. r matters for families with a form of SWE-bench's
// harness. An error means that there is no verdict: the parser failed, or ctx was cancelled.
func (t *Task) Judge(ctx context.Context, l grade.Log, r logparse.Rules) (grade.Judgement, error) {
	reading, err := t.Read(ctx, l, r)
	if err != nil {
		return grade.Judgement{}, err
	}
	return reading.Judge(t.Tests), nil
}

// Reading is the parsed output of a task's script, for any deciding tests.
type Reading struct {
	*grade.Reading
	rule rule
}

// Read reads the output of the task's script as [Task.Judge] does.
func (t *Task) Read(ctx context.Context, l grade.Log, r logparse.Rules) (*Reading, error) {
	if t.rule == nil && grade.IsOld(l) {
		r = logparse.V4
	}
	evalType := grade.EvalType(t.Repo, t.EvalType, r)
	if t.rule != nil {
		var zero int // the neighbors' harnesses ignore the exit code and the output outside of the markers
		l.ExitCode, l.OnlyMarked, evalType = &zero, true, grade.PassAndFail
	}
	reading, err := grade.Read(l, t.Parse(ctx, r), evalType, r)
	if err != nil {
		return nil, err
	}
	return &Reading{reading, t.rule}, nil
}

// Judge grades the output by the given tests. Without any, nothing resolves the task.
func (r *Reading) Judge(tests grade.Tests) grade.Judgement {
	j := r.Reading.Judge(tests)
	if r.rule != nil && j.Found {
		r.decide(&j, tests)
	}
	if unnamed(tests) && j.Verdict == vocab.VerdictResolved {
		j.Resolution, j.Resolved, j.Verdict, j.Why = grade.ResolvedNo, false, vocab.VerdictUnresolved, "it is run to find the tests that decide"
	}
	return j
}

// Parse returns the parser of the task's logs.
func (t *Task) Parse(ctx context.Context, r logparse.Rules) grade.Parse {
	return func(log string) (logparse.Statuses, []string, error) { return t.parse(ctx, log, r) }
}

// decide replaces the verdict of SWE-bench's rule by the verdict of the family's rule.
func (r *Reading) decide(j *grade.Judgement, tests grade.Tests) {
	o := r.rule(j.Statuses, tests)
	j.Tests = swebench.TestsStatus{FailToPass: o.failToPass, PassToPass: o.passToPass}
	j.Resolution, j.Resolved, j.Verdict, j.Why = grade.ResolvedFull, true, vocab.VerdictResolved, ""
	doubt := j.Doubt
	j.Doubt = "" // a rule that resolves does not need the tests that are missing in the log
	if !o.resolved || len(j.Statuses) == 0 {
		j.Resolution, j.Resolved, j.Verdict, j.Why = grade.ResolvedNo, false, vocab.VerdictUnresolved, o.reason(len(j.Statuses))
		j.Doubt = doubt
	}
}

func (o outcome) reason(results int) string {
	switch {
	case results == 0:
		return "no test result in the log"
	case o.why != "":
		return o.why
	case len(o.failToPass.Failure) > 0:
		return failing("FAIL_TO_PASS", o.failToPass)
	default:
		return failing("PASS_TO_PASS", o.passToPass)
	}
}

// failing names at most three tests.
func failing(list string, s swebench.Split) string {
	names := s.Failure[:min(3, len(s.Failure))]
	more := ""
	if len(s.Failure) > len(names) {
		more = ", ..."
	}
	return fmt.Sprintf("%d of %d %s tests fail: %s%s", len(s.Failure), len(s.Failure)+len(s.Success), list, strings.Join(names, ", "), more)
}

// split sorts tests by ok. Tests that do not count are left out.
func split(tests []string, ok func(test string) (success, counts bool)) swebench.Split {
	s := swebench.Split{Success: []string{}, Failure: []string{}}
	for _, test := range tests {
		switch success, counts := ok(test); {
		case !counts:
		case success:
			s.Success = append(s.Success, test)
		default:
			s.Failure = append(s.Failure, test)
		}
	}
	return s
}

// all returns the outcome of a rule by which every test must be a success.
func all(t grade.Tests, failToPass, passToPass func(test string) bool) outcome {
	o := outcome{
		failToPass: split(t.FailToPass, func(test string) (bool, bool) { return failToPass(test), true }),
		passToPass: split(t.PassToPass, func(test string) (bool, bool) { return passToPass(test), true }),
	}
	o.resolved = len(o.failToPass.Failure) == 0 && len(o.passToPass.Failure) == 0
	return o
}

// named returns a parser of package logparse.
func named(name string, row logparse.Row) parser {
	return func(_ context.Context, log string, r logparse.Rules) (logparse.Statuses, []string, error) {
		return logparse.Parse(name, log, row, r)
	}
}

// asInV4 returns a parser that always uses the rules of SWE-bench 4. It is for datasets with a
// harness that was made from version 4: their expected tests have the names of its rules.
func asInV4(parse parser) parser {
	return func(ctx context.Context, log string, _ logparse.Rules) (logparse.Statuses, []string, error) {
		return parse(ctx, log, logparse.V4)
	}
}

// plain returns a parser that only needs the log and never fails.
func plain(parse func(log string) logparse.Statuses) parser {
	return func(_ context.Context, log string, _ logparse.Rules) (logparse.Statuses, []string, error) {
		return parse(log), nil, nil
	}
}

// named sets the task's parser to a parser of package logparse.
func (t *Task) named(name string) {
	t.Parser = name
	t.parse = named(name, logparse.Row{InstanceID: t.InstanceID, Repo: t.Repo, Version: t.Version})
}
