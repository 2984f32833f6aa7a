package swebench

import (
	"batch.example/batch/fault"
)

// Verdict is the result of one instance in the harness's files.
type Verdict struct {
	Resolved bool
	// Error says that the harness ended with an error. Its files do not tell a patch that does not
	// apply, or tests that time out, from a failure of the machine.
	Error bool
	Left  Left   // if not empty, there is no verdict
	File  string // where this was read
}

// weight orders verdicts on an instance: one of tests replaces an error, as of an earlier run, and
// an error replaces a missing verdict.
func (v Verdict) weight() int {
	switch {
	case v.Left != "":
		return 0
	case v.Error:
		return 1
	}
	return 2
}

// Left says why an instance has no verdict.
type Left string

// The reasons for having no verdict.
const (
	NoResult    Left = "no result"  // there is no prediction
	NotGraded   Left = "not graded" // there is a prediction, and nothing about it
	Quarantined Left = "quarantined"
)

// Verdicts are the results of one run, by instance id.
type Verdicts map[string]Verdict

// add merges the results of a second file. Two different verdicts of tests are a Usage fault.
func (v Verdicts) add(more Verdicts) error {
	for id, now := range more {
		was, known := v[id]
		switch {
		case !known, now.weight() > was.weight():
			v[id] = now
		case now.weight() == 2 && was.weight() == 2 && now.Resolved != was.Resolved:
			return fault.Newf(fault.Usage, "%s and %s disagree about %s", was.File, now.File, id).
				WithHint("name the report that is to count")
		}
	}
	return nil
}

// complement adds the dataset's other instances as unresolved.
func (v Verdicts) complement(instances []string, file string) {
	for _, id := range instances {
		if _, known := v[id]; !known {
			v[id] = Verdict{File: file}
		}
	}
}
