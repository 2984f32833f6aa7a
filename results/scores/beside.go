package scores

import (
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// readRun reads a run directory, or a folder of mini-swe-agent. If batch has not graded it,
// the verdicts come from official reports beside its predictions.
func readRun(dir string) (Run, error) {
	snap, err := results.Read(dir)
	if err != nil {
		return Run{}, err
	}
	return withReports(snap)
}

// withReports returns the attempt of a run directory. If batch has graded nothing, the
// verdicts come from reports beside it.
func withReports(snap *results.Snapshot) (Run, error) {
	a := FromSnapshot(snap)
	if snap.GradingBegan {
		return a, nil
	}
	v, err := swebench.Beside(snap.Dir, manifest.File)
	if err != nil {
		return Run{}, err
	}
	last, errs := results.Latest(snap.Records), 0
	for id, s := range a.Scores {
		r := results.LatestOf(last, id)
		one, known := v[id]
		if len(v) > 0 && r.PatchBytes == 0 {
			known = true // a tree of logs does not have it: there was nothing to test
		}
		switch {
		case !known, s.Left == Quarantined:
		case s.Left == NotGraded, r.Status == vocab.StatusUnknown:
			s.take(one)
			a.Scores[id] = s
			if one.Error {
				errs++
			}
		}
	}
	a.noteErrors(errs)
	return a, nil
}
