package grading

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// Final writes the harness's final report of a run directory, and returns its path. Asked has
// the ids of all instances, sorted. Quarantined instances are left out. An ungraded prediction counts
// as an error, as in the harness. If predictions are mixed, the file's name says so: see [finalName].
// A file that an earlier call wrote under another name is removed. Without a prediction there is no report:
// the harness's name for it would be that of a model None.
func Final(s *results.Store, runID string, rules logparse.Rules, asked []string) (string, error) {
	log, err := s.Grades()
	if err != nil {
		return "", err
	}
	latest, dir := grades.Latest(log.All()), s.Dir()
	quarantined, err := grades.Quarantined(dir)
	if err != nil {
		return "", err
	}
	predictions, err := s.Predictions(nil)
	if err != nil {
		return "", err
	}
	f := swebench.Final{RunID: runID, V4: rules == logparse.V4, Instances: asked, Engine: true, Quarantined: quarantined}
	predictions = slices.DeleteFunc(predictions, func(p results.Prediction) bool {
		_, found := slices.BinarySearch(asked, p.InstanceID)
		return !found
	})
	for _, p := range predictions {
		f.Predictions = append(f.Predictions, finalEntry(dir, p, latest[KeyOf(p)]))
	}
	name, others := finalName(dir, predictions)
	for _, g := range latest { // of predictions that are gone
		if g.Model != name && !slices.Contains(others, g.Model) {
			others = append(others, g.Model)
		}
	}
	for _, other := range others {
		f.Model = other
		if err := removeFinal(dir, f); err != nil {
			return "", err
		}
	}
	if f.Model = name; len(predictions) == 0 {
		return "", removeFinal(dir, f)
	}
	return swebench.WriteFinal(dir, f)
}

const (
	severalModels = "several-models"
	mixedSettings = "+mixed-settings"
)

// finalName returns the name of a final report: the model's name, or severalModels, with the
// ending mixedSettings if results were made with different settings, or some by another tool. Others
// has the names that the report had before it was mixed, or while it was.
func finalName(dir string, predictions []results.Prediction) (name string, others []string) {
	var models []string
	foreign := 0
	for _, p := range predictions {
		if p.Attempt == 0 {
			foreign++
		}
		if !slices.Contains(models, p.Model) {
			models = append(models, p.Model)
		}
	}
	if len(models) == 0 {
		models = []string{""}
	}
	name = models[0]
	m, err := manifest.Read(dir)
	if err == nil && results.MixedIn(&results.Snapshot{Manifest: m}) != nil || 0 < foreign && foreign < len(predictions) {
		name += mixedSettings
	}
	if len(models) > 1 {
		name = severalModels
	}
	others = append(others, severalModels)
	for _, model := range models {
		others = append(others, model, model+mixedSettings)
	}
	return name, slices.DeleteFunc(others, func(other string) bool { return other == name })
}

// removeFinal removes a final report, if it is there.
func removeFinal(dir string, f swebench.Final) error {
	name, err := f.Name()
	if err == nil {
		err = os.Remove(filepath.Join(dir, name))
	}
	if errors.Is(err, fs.ErrNotExist) || fault.KindOf(err) == fault.Usage {
		return nil
	}
	return atomicfile.Fault("removing an earlier final report", err)
}

// KeyOf identifies a prediction among grades.
func KeyOf(p results.Prediction) grades.Prediction {
	return grades.Prediction{InstanceID: p.InstanceID, Attempt: p.Attempt, Patch: grades.PatchDigest(p.Text)}
}

func finalEntry(dir string, p results.Prediction, g grades.Grade) swebench.Entry {
	if g.Verdict == "" || p.Excused { // the harness only checks whether there is a patch
		return swebench.Entry{InstanceID: p.InstanceID, Empty: len(bytes.TrimSpace(p.Patch)) == 0, NoVerdict: true}
	}
	var failure swebench.Failure
	if g.Log != "" && g.Verdict != vocab.VerdictResolved {
		if files, err := swebench.ReadFiles(filepath.Join(dir, filepath.FromSlash(g.Log))); err == nil { // the failure is advice
			failure = grade.Classify(string(files.Output) + "\n" + string(files.RunLog))
		}
	}
	return swebench.EntryOf(p.InstanceID, g.Verdict, failure, g.Doubt)
}
