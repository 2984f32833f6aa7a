package audit

import (
	"batch.example/batch/dataset"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results/trajectory"
)

// Detector describes a detector, for people and for programs.
type Detector struct {
	Name    string `json:"name"`      // stays the same between versions
	Looks   string `json:"looks_for"` // what it looks for: a sentence
	Not     string `json:"not_proof"` // what a finding does not prove: a sentence
	ByRow   bool   `json:"needs_row"` // it checks nothing without the row of the dataset
	ByPatch bool   `json:"of_patch"`  // it looks at the final patch
	BySteps bool   `json:"of_steps"`  // it looks at commands and their outputs
}

// Version is the version of the detectors. It grows when the same attempt may have other findings.
const Version = 2

// Finding is one hit of a detector in an attempt.
type Finding struct {
	Detector string `json:"detector"`
	Instance string `json:"instance_id"`
	Attempt  int    `json:"attempt"` // 0: of another tool
	Step     int    `json:"step"`    // Step.Number of the view; 0: it is about the patch
	Action   int    `json:"action"`  // in the step, from 1; 0: it is about the patch
	// Evidence is a short part of the command, of its output or of the patch: one line, printable,
	// of at most about 200 bytes, with secrets hidden.
	Evidence string `json:"evidence"`
	Version  int    `json:"detectors_version"`
}

// NotChecked says that a detector did not check an attempt.
type NotChecked struct {
	Detector string `json:"detector"`
	Instance string `json:"instance_id"`
	Attempt  int    `json:"attempt"`
	Why      string `json:"not_checked"`
}

// Detectors returns all detectors, in the order of findings.
func Detectors() []Detector {
	list := make([]Detector, len(detectors))
	for i, d := range detectors {
		list[i] = d.Detector
	}
	return list
}

// Attempt returns the findings in an attempt, in the order of [Detectors], then of steps, with
// the findings of the patch last; and the detectors that could not check it. A command, or a line of
// a program, counts once in an action. Row is the dataset's; nil if it is not known. M hides
// secrets in the evidence, also in the patch, which a view has in clear text; it may be nil.
func Attempt(v *trajectory.View, row *dataset.Instance, m *mask.Masker) ([]Finding, []NotChecked) {
	t := newTask(v, row, m)
	var found []Finding
	var not []NotChecked
	for _, d := range detectors {
		if d.ByRow && row == nil {
			not = append(not, NotChecked{d.Name, v.Instance, v.Attempt, "the row of the dataset is not known"})
			continue
		}
		h := hits{task: t, detector: d.Name, seen: map[[2]any]bool{}}
		d.find(t, &h)
		found = append(found, h.list...)
	}
	return found, not
}
