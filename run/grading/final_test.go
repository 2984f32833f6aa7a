package grading_test

import (
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
		{nil, false, "None.run.json"},
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
		var list []results.Prediction
		ids := []string{"x__1", "x__2"}
		for i, model := range c.models {
			list = append(list, results.Prediction{InstanceID: ids[i], Model: model})
		}
		path, err := grading.Final(dir, "run", logparse.V5, ids, list, nil, nil)
		if err != nil || filepath.Base(path) != c.want {
			t.Errorf("%v, mixed %v: %s, %v, want %s", c.models, c.mixed, path, err, c.want)
		}
		found, _ := filepath.Glob(filepath.Join(dir, "*.run.json"))
		if c.models != nil && !slices.Equal(found, []string{path}) {
			t.Errorf("%v, mixed %v: reports %q, want only %s", c.models, c.mixed, found, c.want)
		}
	}
}
