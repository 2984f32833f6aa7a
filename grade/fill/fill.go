// Package fill finds the deciding tests of an instance, FAIL_TO_PASS and PASS_TO_PASS, from several
// test logs before and after its gold patch.
//
// A test is a name in one of the logs. Grading's own rules say whether it passed in a log. So with
// the resulting lists, every log after the patch resolves the instance and no log before does:
//
//   - FAIL_TO_PASS: it failed, or is missing, in every log before, and passed in every log after.
//   - PASS_TO_PASS: it passed in all logs.
//   - flaky: it passed in some logs of one side, but not in all. It is in neither list.
//   - broken: it passed in every log before and in none after. It is in neither list.
//   - ambiguous: a log has the name both for a failed and for a passed test, such as tests in two
//     files. It is in neither list.
//
// The lists are sorted, and the same logs give the same lists.
//
// Its API is not promised to other programs: see package batch.
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

// Lists are the results of an instance's logs. All are sorted.
type Lists struct {
	FailToPass, PassToPass []string
	Flaky                  []Flaky
	Broken, Ambiguous      []string
	// Doubt says in one line why the lists may lack tests or have too many: the Doubt of
	// [grade.Judgement] for the first log that may have been cut short.
	Doubt string
}

// Flaky is a test with the numbers of logs in which it passed.
type Flaky struct {
	Test          string
	Before, After int
}

// Find compares the logs before and after the gold patch of a task, at least one each. An
// error is a *fault.Error: of kind Instance if the logs do not say which tests decide.
func Find(ctx context.Context, t *family.Task, r logparse.Rules, before, after []grade.Log) (Lists, error) {
	f := finder{task: t, names: map[string]bool{}}
	earlier, err := f.read(ctx, r, before)
	if err != nil {
		return Lists{}, err
	}
	later, err := f.read(ctx, r, after)
	if err != nil {
		return Lists{}, err
	}
	f.tests = slices.Sorted(maps.Keys(f.names))
	passedBefore, _, err := f.passed(earlier, "before its gold patch")
	if err != nil {
		return Lists{}, err
	}
	passedAfter, why, err := f.passed(later, "after its gold patch")
	switch {
	case err != nil:
		return Lists{}, err
	case len(f.tests) == 0:
		return Lists{}, f.fault("%s found no test in what the test command printed", t.Parser).
			WithHint("the log shows what the command said; `batch help row` lists the parser of each test runner")
	case why != "":
		return Lists{}, f.fault("after its gold patch, %s", why)
	}
	l := f.lists(passedBefore, passedAfter, len(before), len(after))
	if len(l.FailToPass) == 0 {
		return l, f.fault("no test fails before its gold patch and passes after it").
			WithHint("its test_patch must have a test of the change, and eval_script must run that test%s", left(l))
	}
	return l, nil
}

// left describes the tests that are in neither list but might decide.
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

// finder compares the logs of one task.
type finder struct {
	task  *family.Task
	names map[string]bool // of all tests; true: several tests have this name
	tests []string        // the names, sorted
	doubt string
}

// reading is a log and all statuses in it, including ones that do not count.
type reading struct {
	*family.Reading
	statuses logparse.Statuses
}

func (f *finder) fault(format string, args ...any) *fault.Error {
	return fault.Newf(fault.Instance, f.task.InstanceID+": "+format, args...)
}

// read reads logs, and collects the names of their tests.
func (f *finder) read(ctx context.Context, r logparse.Rules, logs []grade.Log) ([]reading, error) {
	var list []reading
	for _, log := range logs {
		read, err := f.task.Read(ctx, log, r)
		if err != nil {
			return nil, err
		}
		statuses, several, err := read.Results()
		if err != nil {
			return nil, err
		}
		for name := range statuses {
			f.names[name] = f.names[name] || slices.Contains(several, name)
		}
		list = append(list, reading{read, statuses})
	}
	return list, nil
}

// passed counts the logs in which each test passed. why describes the last log without results that
// count.
func (f *finder) passed(logs []reading, when string) (n map[string]int, why string, err error) {
	n = map[string]int{}
	for _, log := range logs {
		j := log.Judge(grade.Tests{FailToPass: f.tests})
		switch {
		case j.Found:
			for _, name := range j.Tests.FailToPass.Success {
				n[name]++
			}
		case j.Verdict != vocab.VerdictUnresolved:
			return nil, "", f.fault("%s, %s", when, j.Why)
		default: // by the rules, no test passed in it; but a test that did pass was not fixed
			why = j.Why
			for name, status := range log.statuses {
				if grade.Passes(status) {
					n[name]++
				}
			}
		}
		f.doubt = cmp.Or(f.doubt, j.Doubt)
	}
	return n, why, nil
}

func (f *finder) lists(before, after map[string]int, runsBefore, runsAfter int) (l Lists) {
	l.Doubt = f.doubt
	for _, name := range f.tests {
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
