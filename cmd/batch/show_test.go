package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What status knows of an instance without a trajectory, show says too.
func TestShowSaysWhatIsKnownWithoutATrajectory(t *testing.T) {
	dir := t.TempDir()
	preds := `{"x__1": {"model_name_or_path": "m", "instance_id": "x__1", "model_patch": ""}}`
	if err := os.WriteFile(filepath.Join(dir, "preds.json"), []byte(preds), 0o600); err != nil {
		t.Fatal(err)
	}
	err := (&app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}).show(showFlags{attempt: -1}, []string{dir, "x__1"})
	const want = "x__1 has no trajectory: another tool made its prediction: its exit status is Unknown, its outcome infrastructure"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
