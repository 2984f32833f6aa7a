package grading

import (
	"bytes"
	"path/filepath"
	"slices"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/grade/official"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

// Final writes the harness's final report of a run directory, and returns its path. Asked
// are the ids of all instances, predictions those that were graded. The quarantined ones,
// which are sorted, are left out. An ungraded prediction is one with an error, as in the harness.
func Final(dir, runID string, rules logparse.Rules, asked []string, predictions []results.Prediction, latest map[grades.Prediction]grades.Grade, quarantined []string) (string, error) {
	out := func(id string) bool {
		_, found := slices.BinarySearch(quarantined, id)
		return found
	}
	f := official.Final{
		RunID: runID, Rules: rules, Instances: slices.DeleteFunc(slices.Clone(asked), out), Leftovers: &official.Leftovers{},
	}
	for _, id := range asked {
		if out(id) {
			f.Quarantined = append(f.Quarantined, id)
		}
	}
	for _, p := range predictions {
		if f.Model == "" {
			f.Model = p.Model
		}
		if !out(p.InstanceID) {
			f.Predictions = append(f.Predictions, finalEntry(dir, p, latest[KeyOf(p)]))
		}
	}
	return official.WriteFinal(dir, f)
}

// KeyOf identifies a prediction among grades.
func KeyOf(p results.Prediction) grades.Prediction {
	return grades.Prediction{InstanceID: p.InstanceID, Attempt: p.Attempt, Patch: grades.PatchDigest(p.Text)}
}

func finalEntry(dir string, p results.Prediction, g grades.Grade) official.Entry {
	if g.Verdict == "" { // the harness asks only whether there is a patch
		return official.Entry{InstanceID: p.InstanceID, Empty: len(bytes.TrimSpace(p.Patch)) == 0}
	}
	var failure grade.Failure
	if g.Log != "" && g.Verdict != vocab.VerdictResolved {
		if files, err := official.Read(filepath.Join(dir, filepath.FromSlash(g.Log))); err == nil { // the failure is advice
			failure = grade.Classify(string(files.Output) + "\n" + string(files.RunLog))
		}
	}
	return official.EntryOf(p.InstanceID, g.Verdict, failure, g.Doubt)
}
