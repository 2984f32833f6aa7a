package grade

import (
	"maps"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/swebench"
)

// A check says to which of its two lists an expected test belongs, if any.
type check func(s seen, id string) outcome

type outcome int

const (
	neither outcome = iota
	success
	failure
)

// listChecks are the checks of both lists.
type listChecks struct{ failToPass, passToPass check }

func checks(evalType string, r logparse.Rules) (listChecks, error) {
	switch {
	case evalType == FailOnly:
		return listChecks{failOnlyTest, failOnlyTest}, nil
	case evalType != PassAndFail:
		return listChecks{}, fault.Newf(fault.Instance, "eval_type %q: want %s or %s", evalType, PassAndFail, FailOnly)
	case r == logparse.V4:
		return listChecks{testV4, testV4}, nil
	}
	return listChecks{mustPass, mustNotBreak}, nil
}

// failOnlyTest counts every test as passed that the log does not have as failed.
func failOnlyTest(s seen, id string) outcome {
	if status, _ := s.exact(id); status == logparse.Failed {
		return failure
	}
	return success
}

func testV4(s seen, id string) outcome {
	status, found := s.exact(id)
	switch {
	case !found, status == logparse.Failed, status == logparse.Error:
		return failure
	case Passes(status):
		return success
	}
	return neither
}

// mustPass is the check of FAIL_TO_PASS tests: a skipped test is not resolved.
func mustPass(s seen, id string) outcome {
	status, found := s.tolerant(id)
	switch {
	case !found, status == logparse.Failed, status == logparse.Error, status == logparse.Skipped:
		return failure
	case Passes(status):
		return success
	}
	return neither
}

// mustNotBreak is the check of PASS_TO_PASS tests: a skipped test is not broken.
func mustNotBreak(s seen, id string) outcome {
	if status, _ := s.tolerant(id); status == logparse.Skipped {
		return success
	}
	return mustPass(s, id)
}

func split(ids []string, s seen, check check) swebench.Split {
	out := swebench.Split{Success: []string{}, Failure: []string{}}
	for _, id := range ids {
		switch check(s, id) {
		case success:
			out.Success = append(out.Success, id)
		case failure:
			out.Failure = append(out.Failure, id)
		}
	}
	return out
}

// resolution returns the harness's word for the share of tests that succeed. An empty list counts
// as done.
func resolution(t swebench.TestsStatus) Resolution {
	switch {
	case len(t.PassToPass.Failure) > 0:
		return ResolvedNo
	case len(t.FailToPass.Failure) == 0:
		return ResolvedFull
	case len(t.FailToPass.Success) > 0:
		return ResolvedPartial
	}
	return ResolvedNo
}

// seen has the statuses in a log, and the names in the log's order.
type seen struct {
	statuses logparse.Statuses
	order    []string
}

// anyFails reports whether a test failed or had an error.
func (s seen) anyFails() bool {
	for _, status := range s.statuses {
		if status == logparse.Failed || status == logparse.Error {
			return true
		}
	}
	return false
}

// exact returns the status of the test with this id.
func (s seen) exact(id string) (status string, found bool) {
	status, found = s.statuses[id]
	return status, found
}

// tolerant is like exact, but also finds the tests that begin with an id that was cut off within
// its parameters, as some in SWE-bench Verified were. If several tests match, all must have passed
// or none; the first in the log is used.
func (s seen) tolerant(id string) (status string, found bool) {
	if status, found = s.statuses[id]; found || strings.Count(id, "[") <= strings.Count(id, "]") {
		return status, found
	}
	for _, name := range s.names() {
		if !strings.HasPrefix(name, id) {
			continue
		}
		if !found {
			status, found = s.statuses[name], true
		} else if Passes(s.statuses[name]) != Passes(status) {
			return "", false
		}
	}
	return status, found
}

func (s seen) names() []string {
	if s.order != nil {
		return s.order
	}
	return slices.Sorted(maps.Keys(s.statuses))
}

// Passes reports whether a status says that a test passed. An expected failure counts, as in the
// harness.
func Passes(status string) bool { return status == logparse.Passed || status == logparse.XFail }

// EvalType returns how the tests of a row are checked: by its column eval_type or, without one, by
// its repo. Release 4.1.0 had no column and a shorter table.
func EvalType(repo, column string, r logparse.Rules) string {
	if r == logparse.V5 && column != "" {
		return column
	}
	since, known := failOnly[strings.ToLower(repo)]
	if known && (r == logparse.V5 || since == logparse.V4) {
		return FailOnly
	}
	return PassAndFail
}

// failOnly has the repos with log parsers that find only failed tests, with the first release that
// treats them so. Names of repos ignore case, as on GitHub.
var failOnly = map[string]logparse.Rules{
	"chartjs/chart.js":      logparse.V4,
	"processing/p5.js":      logparse.V4,
	"markedjs/marked":       logparse.V4,
	"bpmn-io/bpmn-js":       logparse.V5,
	"openlayers/openlayers": logparse.V5,
	"eslint/eslint":         logparse.V5,
}
