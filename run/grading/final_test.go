package grading_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/grading"
	"batch.example/batch/vocab"
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

// Infrastructure never counts against a model. The harness counts each empty patch.
func TestAnEmptyPatchOfAnotherToolsInfrastructureFailureIsInNoRate(t *testing.T) {
	dir := t.TempDir()
	preds, instances, asked := map[string]any{}, []dataset.Instance{}, []string{"x__1", "x__2", "x__3"}
	for i, status := range []string{"APIConnectionError", "LimitsExceeded", ""} {
		id := asked[i]
		preds[id] = map[string]string{"model_name_or_path": "m", "instance_id": id, "model_patch": ""}
		instances = append(instances, dataset.Instance{ID: id})
		if status == "" {
			continue
		}
		err := os.MkdirAll(filepath.Join(dir, id), 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, id, id+".traj.json"), []byte(`{"info": {"exit_status": "`+status+`"}}`), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(preds)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "preds.json"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := s.Grades()
	for _, id := range asked { // as an earlier version graded them
		if err == nil {
			err = log.Add(grades.Grade{InstanceID: id, Patch: grades.PatchDigest(""), Model: "m", Verdict: vocab.VerdictEmpty})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	plan, err := grading.Planner{Instances: instances, Redo: true}.Plan(t.Context(), s.Reader, log.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plan {
		if agent := p.Instance.ID == "x__2"; p.Keep == agent {
			t.Errorf("%s is kept: %v", p.Instance.ID, p.Keep)
		}
	}
	for _, r := range s.Records() {
		if agent := r.InstanceID == "x__2"; (r.Resolved != nil) != agent || (r.Grade != nil) != agent {
			t.Errorf("%s: resolved %v, grade %v", r.InstanceID, r.Resolved, r.Grade)
		}
	}
	path, err := grading.Final(s, "run", logparse.V5, asked)
	if err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Empty     []string `json:"empty_patch_ids"`
		NoVerdict []string `json:"no_verdict_ids"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(report.Empty, asked) || !slices.Equal(report.NoVerdict, []string{"x__1", "x__3"}) {
		t.Errorf("the final report has %+v", report)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
