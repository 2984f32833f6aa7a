package grading

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

// gradedFolder is another tool's predictions, which were graded.
func gradedFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	preds := `{"a__b-1": {"model_name_or_path": "m", "instance_id": "a__b-1", "model_patch": "p"}, "a__b-2": {"model_name_or_path": "m", "model_patch": "q"}}`
	if err := os.WriteFile(filepath.Join(dir, "preds.json"), []byte(preds), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := s.Grades()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []grades.Grade{
		{
			InstanceID: "a__b-1", Patch: grades.PatchDigest("p"), Verdict: vocab.VerdictUnresolved, Why: "1 of 2 FAIL_TO_PASS tests fails",
			FailToPass: grades.Tests{Passed: []string{"one"}, Failed: []string{"two"}}, Log: "logs/run_evaluation/r/m/a__b-1",
		},
		{InstanceID: "a__b-2", Patch: grades.PatchDigest("q"), Verdict: vocab.VerdictResolved},
	} {
		if err := log.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Quarantine([]byte("a__b-2 # gold fails\n")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A verdict of other rows counts nowhere, even if its prediction cannot be judged again.
func TestAStaleVerdictDoesNotCount(t *testing.T) {
	t.Parallel()
	dir := gradedFolder(t)
	row := `{"instance_id": "a__b-1", "repo": "o/r", "base_commit": "c", "image_name": "x/y:1", "patch": "gold", "test_patch": "", "FAIL_TO_PASS": ["t"], ` +
		`"PASS_TO_PASS": [], "problem_statement": "x", "version": "1", "eval_script": "./t", "log_parser": "parse_log_pytest", "eval_type": "pass_and_fail"}`
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(rows, []byte(row+"\n"+strings.Replace(row, "b-1", "b-2", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	status := func() string { _, said := e2e.ExitCode(t, e2e.Batch(t, dir, "status", dir)); return said }
	if said := status(); !strings.Contains(said, "resolved 0 of 1 graded") {
		t.Errorf("before: %s", said)
	}
	if code, said := e2e.ExitCode(t, e2e.Batch(t, dir, "grade", dir, "--subset", rows, "--engine", "unix:///none", "-q")); code != 1 {
		t.Errorf("exit code %d\n%s", code, said)
	}
	if said := status(); !strings.Contains(said, "resolved 0 of 0 graded") {
		t.Errorf("after: %s", said)
	}
	finals, _ := filepath.Glob(filepath.Join(dir, "m.*.json"))
	if len(finals) != 1 {
		t.Fatalf("final reports: %q", finals)
	}
	if text, err := os.ReadFile(finals[0]); err != nil || !strings.Contains(string(text), `"error_ids": [
        "a__b-1"`) {
		t.Errorf("%v, %s", err, text)
	}
}
