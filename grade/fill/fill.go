// Package fill finds the tests that decide an instance: FAIL_TO_PASS and PASS_TO_PASS, from
// what its tests printed before and after its gold patch, several times each.
//
// A test is a name in one of the logs. Grading's own rules say whether it passed in a log, so
// that by the lists that were found, every log after the patch resolves the instance and no
// log before does:
//
//   - FAIL_TO_PASS: it failed, or is missing, in every log before, and passed in every log after.
//   - PASS_TO_PASS: it passed in all logs.
//   - flaky: it passed in some logs of one side, but not in all. It is in neither list.
//   - broken: it passed in every log before and in none after. It is in neither list.
//   - ambiguous: a log has the name for a test that failed and for one that passed, such as tests
//     of two files. It is in neither list.
//
// The lists are sorted, and the same logs give the same lists.
package fill

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/printable"
	"batch.example/batch/vocab"
)

// Lists are what the logs of an instance say. All are sorted.
type Lists struct {
	FailToPass, PassToPass []string
	Flaky                  []Flaky
	Broken, Ambiguous      []string
	// Doubt says in one line why the lists may lack tests or have too many: as
	// [grade.Judgement] has it, of the first log that may have been cut short.
	Doubt string
}

// Flaky is a test with how many logs it passed in.
type Flaky struct {
	Test          string
	Before, After int
}

// Find compares the logs before and after the gold patch of a task, at least one each. An
// error is a *fault.Error: of kind Instance if the logs do not say which tests decide.
func Find(ctx context.Context, t *family.Task, r logparse.Rules, before, after []grade.Log) (Lists, error) {
	f := finder{ctx: ctx, task: t.WithTests(grade.Tests{}), rules: r, names: map[string]bool{}}
	for _, log := range before {
		if _, err := f.look(log, "before its gold patch"); err != nil {
			return Lists{}, err
		}
	}
	why := ""
	for _, log := range after {
		j, err := f.look(log, "after its gold patch")
		if err != nil {
			return Lists{}, err
		}
		if !j.Found {
			why = j.Why
		}
	}
	switch {
	case len(f.names) == 0:
		return Lists{}, f.fault("%s found no test in what the test command printed", t.Parser).
			WithHint("the log shows what the command said; `batch help row` lists the parser of each test runner")
	case why != "":
		return Lists{}, f.fault("after its gold patch, %s", why)
	}
	f.task = t.WithTests(grade.Tests{FailToPass: slices.Sorted(maps.Keys(f.names))})
	passedBefore, err := f.passed(before)
	if err != nil {
		return Lists{}, err
	}
	passedAfter, err := f.passed(after)
	if err != nil {
		return Lists{}, err
	}
	l := f.lists(passedBefore, passedAfter, len(before), len(after))
	if len(l.FailToPass) == 0 {
		return l, f.fault("no test fails before its gold patch and passes after it").
			WithHint("its test_patch must have a test of the change, and eval_script must run that test%s", left(l))
	}
	return l, nil
}

// left says how many tests that may decide are in neither list.
func left(l Lists) string {
	text := ""
	if n := len(l.Flaky); n > 0 {
		text += "; " + printable.Count(n, "test is", "tests are") + " flaky"
	}
	if n := len(l.Ambiguous); n > 0 {
		text += "; " + printable.Count(n, "name is", "names are") + " of several tests: " + strings.Join(l.Ambiguous[:min(3, n)], ", ")
	}
	return text
}

// finder reads the logs of one task.
type finder struct {
	ctx   context.Context
	task  *family.Task
	rules logparse.Rules
	names map[string]bool // of all tests; true: the name of several
	doubt string
}

func (f *finder) fault(format string, args ...any) *fault.Error {
	return fault.Newf(fault.Instance, f.task.InstanceID+": "+format, args...)
}

// look collects the names of a log's tests.
func (f *finder) look(log grade.Log, when string) (grade.Judgement, error) {
	j, err := f.task.Judge(f.ctx, log, f.rules)
	if err != nil {
		return j, err
	}
	if j.Verdict != vocab.VerdictUnresolved {
		return j, f.fault("%s, %s", when, j.Why)
	}
	statuses, several, err := grade.Results(log, f.task.Parse(f.ctx, f.rules), f.rules)
	for name := range statuses {
		f.names[name] = f.names[name] || slices.Contains(several, name)
	}
	return j, err
}

// passed counts the logs in which each test passed.
func (f *finder) passed(logs []grade.Log) (map[string]int, error) {
	n := map[string]int{}
	for _, log := range logs {
		j, err := f.task.Judge(f.ctx, log, f.rules)
		if err != nil {
			return nil, err
		}
		for _, name := range j.Tests.FailToPass.Success {
			n[name]++
		}
		if !j.Found { // by the rules, no test passed in it; but a test that did was not fixed
			statuses, _, err := grade.Results(log, f.task.Parse(f.ctx, f.rules), f.rules)
			if err != nil {
				return nil, err
			}
			for name, status := range statuses {
				if grade.Passes(status) {
					n[name]++
				}
			}
		}
		f.doubt = cmp.Or(f.doubt, j.Doubt)
	}
	return n, nil
}

func (f *finder) lists(before, after map[string]int, runsBefore, runsAfter int) (l Lists) {
	l.Doubt = f.doubt
	for _, name := range f.task.Tests.FailToPass {
		b, a := before[name], after[name]
		switch {
		case f.names[name]:
			l.Ambiguous = append(l.Ambiguous, name)
		case b > 0 && b < runsBefore, a > 0 && a < runsAfter:
			l.Flaky = append(l.Flaky, Flaky{name, b, a})
		case b == 0 && a > 0:
			l.FailToPass = append(l.FailToPass, name)
		case b > 0 && a > 0:
			l.PassToPass = append(l.PassToPass, name)
		case b > 0:
			l.Broken = append(l.Broken, name)
		}
	}
	return l
}
