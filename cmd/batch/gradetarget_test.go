package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/results/manifest"
)

// Grading takes the run's masks and configurations, and stays in its own working directory: the
// paths of its own flags begin there.
func TestGradingTakesTheSettingsOfItsRun(t *testing.T) {
	dir, here := t.TempDir(), t.TempDir()
	request := requested(t, dir, "--mask", "corp-[0-9]+", "-c", "mine", "-c", "tools", "-c", "agent.step_limit=3", "-m", "noop")
	m := &manifest.Manifest{Command: "run", Dir: dir, Request: request}
	if err := os.Mkdir(filepath.Join(dir, "tools"), 0o755); err != nil { // not batch's own configuration
		t.Fatal(err)
	}
	file := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	take := func(m *manifest.Manifest, given ...string) (gradeFlags, error) {
		t.Helper()
		f, c := newGradeFlags(), &cobra.Command{}
		f.addTests(c.Flags())
		if err := c.ParseFlags(given); err != nil {
			t.Fatal(err)
		}
		f.own = c.Flags()
		return f, f.takeRun(dir, m, appWith(t, nil).process())
	}
	f, err := take(m)
	if want := []string{file, "tools", "agent.step_limit=3"}; err != nil || !slices.Equal(f.Configs, want) {
		t.Errorf("configurations %q, %v; want %q", f.Configs, err, want)
	}
	if len(f.MaskPatterns) != 1 || f.MaskPatterns[0] != "corp-[0-9]+" {
		t.Errorf("hides %q, want what the run hid", f.MaskPatterns)
	}
	moved := *m
	moved.Dir = filepath.Join(dir, "gone") // the directory was moved, or copied to another machine
	moved.Request = &manifest.Request{}
	*moved.Request = *request
	moved.Request.Dir = moved.Dir
	moved.Request.Configs = []string{filepath.Join(moved.Dir, "mine.yaml")}
	if _, err := take(&moved); fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v, want a usage fault: the file is gone", err)
	}
	if f, err := take(&moved, "-c", "agent.step_limit=4"); err != nil || !slices.Equal(f.Configs, []string{"agent.step_limit=4"}) {
		t.Errorf("got %q, %v; want what was given", f.Configs, err)
	}
	if err := os.WriteFile(filepath.Join(here, "mine.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := take(&moved); err != nil || !slices.Equal(f.Configs, []string{filepath.Join(here, "mine.yaml")}) {
		t.Errorf("got %q, %v; want the file that is here now", f.Configs, err)
	}
}
