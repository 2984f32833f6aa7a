package swebench

import (
	"batch.example/batch/fault"
)

// Verdict is the result of one instance in the harness's files.
type Verdict struct {
	Resolved bool
	Left     Left   // if not empty, there is no verdict
	File     string // where this was read
}

// Left says why an instance has no verdict.
type Left string

// The reasons for having no verdict.
const (
	Infrastructure Left = "infrastructure" // the harness ended with an error
	NoResult       Left = "no result"      // there is no prediction
	NotGraded      Left = "not graded"     // there is a prediction, and nothing about it
	Quarantined    Left = "quarantined"
)

// Verdicts are the results of one run, by instance id.
type Verdicts map[string]Verdict

// add merges the results of a second file. A verdict replaces a missing one; two different verdicts
// are a Usage fault.
func (v Verdicts) add(more Verdicts) error {
	for id, now := range more {
		was, known := v[id]
		switch {
		case !known, was.Left != "":
			v[id] = now
		case now.Left == "" && now.Resolved != was.Resolved:
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
