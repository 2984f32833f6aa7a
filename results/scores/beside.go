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
	last := results.Latest(snap.Records)
	for id, s := range a.Scores {
		one, known := v[id]
		switch r := results.LatestOf(last, id); {
		case !known, s.Left == Quarantined:
		case s.Left == NotGraded, r.Status == vocab.StatusUnknown:
			s.take(one)
			a.Scores[id] = s
		}
	}
	return a, nil
}
