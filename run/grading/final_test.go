package grading_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"batch.example/batch/grade/logparse"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/grading"
)

// People copy a final report into papers, under its name.
func TestAFinalReportOfMixedResultsHasANameThatSaysSo(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		models []string
		mixed  bool
		want   string
	}{
		{[]string{"org/a", "org/a"}, false, "org__a.run.json"},
		{[]string{"org/a", "org/a"}, true, "org__a+mixed-settings.run.json"},
		{[]string{"org/a", "b"}, true, "several-models.run.json"},
		{[]string{"b", "org/a"}, false, "several-models.run.json"},
		{[]string{"org/a", "org/a"}, false, "org__a.run.json"},
		{nil, false, "."},
	} {
		m := &manifest.Manifest{}
		if c.mixed {
			m.Mixed = []manifest.Difference{{Name: "agent.step_limit"}}
		}
		text, err := m.Text()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, manifest.File), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids, preds := []string{"x__1", "x__2"}, map[string]any{}
		for i, model := range c.models {
			preds[ids[i]] = map[string]string{"model_name_or_path": model, "instance_id": ids[i], "model_patch": ""}
		}
		if text, err = json.Marshal(preds); err == nil {
			err = os.WriteFile(filepath.Join(dir, "preds.json"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := results.Open(dir, results.Options{})
		if err != nil {
			t.Fatal(err)
		}
		path, err := grading.Final(s, "run", logparse.V5, ids)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || filepath.Base(path) != c.want {
			t.Errorf("%v, mixed %v: %s, %v, want %s", c.models, c.mixed, path, err, c.want)
		}
		found, _ := filepath.Glob(filepath.Join(dir, "*.run.json"))
		if c.models != nil && !slices.Equal(found, []string{path}) || slices.Contains(found, filepath.Join(dir, "None.run.json")) {
			t.Errorf("%v, mixed %v: reports %q, want only %s", c.models, c.mixed, found, c.want)
		}
	}
}
