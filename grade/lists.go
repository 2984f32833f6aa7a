package grade

import (
	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/swebench"
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
