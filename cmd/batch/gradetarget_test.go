package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"batch.example/batch/results/manifest"
)

// Grading takes from the run what it hid and its configurations, and stays in its own working
// directory: the paths that it was given itself are relative to that one.
func TestGradingTakesTheSettingsOfItsRun(t *testing.T) {
	dir, here := t.TempDir(), t.TempDir()
	m := &manifest.Manifest{Dir: dir, Argv: []string{"run", "--mask", "corp-[0-9]+", "-c", "mini", "-c", "tools", "-c", "agent.step_limit=3", "-m", "noop"}}
	text, err := m.Text(func(text []byte) []byte { return text })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tools"), 0o755); err != nil { // not batch's own configuration
		t.Fatal(err)
	}
	for name, text := range map[string]string{manifest.File: string(text), "mini.yaml": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(here)
	take := func(m *manifest.Manifest) gradeFlags {
		t.Helper()
		f := gradeFlags{own: (&cobra.Command{}).Flags()}
		if err := f.takeRun(dir, m); err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := take(m)
	if want := []string{filepath.Join(dir, "mini"), "tools", "agent.step_limit=3"}; !slices.Equal(f.configs, want) {
		t.Errorf("configurations %q, want %q", f.configs, want)
	}
	if len(f.mask) != 1 || f.mask[0] != "corp-[0-9]+" {
		t.Errorf("hides %q, want what the run hid", f.mask)
	}
	if now, err := os.Getwd(); err != nil || now != here {
		t.Errorf("works in %s, %v; want %s", now, err, here)
	}
	gone := *m
	gone.Dir = filepath.Join(dir, "gone") // the directory was moved, or copied to another machine
	if text, err = gone.Text(func(text []byte) []byte { return text }); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, manifest.File), text, 0o600); err != nil {
		t.Fatal(err)
	}
	take(&gone)
}
