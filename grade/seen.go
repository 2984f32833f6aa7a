package grade

import (
	"maps"
	"slices"
	"strings"

	"batch.example/batch/grade/logparse"
)

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
