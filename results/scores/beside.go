package scores

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// readRun reads a run directory, or a folder of mini-swe-agent. If batch has not graded it,
// the verdicts are those of official reports beside its predictions.
func readRun(dir string) (Attempt, error) {
	snap, err := results.Read(dir)
	if err != nil {
		return Attempt{}, err
	}
	return withReports(snap)
}

// withReports returns the attempt of a run directory, with the verdicts of reports beside it
// if batch has graded nothing.
func withReports(snap *results.Snapshot) (Attempt, error) {
	a := FromSnapshot(snap)
	if snap.GradingBegan {
		return a, nil
	}
	v, err := beside(snap.Dir)
	if err != nil {
		return Attempt{}, err
	}
	last := results.Latest(snap.Records)
	for id, s := range a.Scores {
		one, known := v[id]
		switch r := results.LatestOf(last, id); {
		case !known, s.Left == Quarantined:
		case s.Left == NotGraded, r.Status == vocab.StatusUnknown:
			s.Left, s.Resolved = one.left, nil
			if one.left == "" {
				s.Resolved = &one.resolved
			}
			a.Scores[id] = s
		}
	}
	return a, nil
}

// beside reads the official reports in a folder with predictions: final reports, the
// harness's or sb-cli's, else its tree of logs.
func beside(dir string) (verdicts, error) {
	all := verdicts{}
	for _, folder := range []string{dir, filepath.Join(dir, "sb-cli-reports")} {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.Usage, "reading scores", err)
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".json" || slices.Contains([]string{predsFile, manifest.File}, e.Name()) {
				continue
			}
			if err := all.addFile(filepath.Join(folder, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	if tree := filepath.Join(dir, "logs", "run_evaluation"); len(all) == 0 && exists(tree) {
		return mergedTree(tree)
	}
	return all, nil
}

// addFile adds what a final report says; other JSON files say nothing.
func (v verdicts) addFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fault.New(fault.Usage, "reading scores", err)
	}
	r, ok, err := parseReport(path, text)
	if err != nil || !ok {
		return err
	}
	return v.add(r.verdicts())
}
