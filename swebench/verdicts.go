package swebench

import (
	"batch.example/batch/fault"
)

// Verdict is what the harness's files say of an instance.
type Verdict struct {
	Resolved bool
	Left     Left   // not empty: there is no verdict
	File     string // that says it
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

// Verdicts are what files say of the instances of one run, by instance id.
type Verdicts map[string]Verdict

// add adds what a second file says. A verdict takes the place of a failure to reach one;
// two that differ are a Usage fault.
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

// complement adds the other instances of the dataset as unresolved.
func (v Verdicts) complement(instances []string, file string) {
	for _, id := range instances {
		if _, known := v[id]; !known {
			v[id] = Verdict{File: file}
		}
	}
}
