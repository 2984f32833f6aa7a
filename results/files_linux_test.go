package results_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// left returns the files below dir that this process has open.
func left(t *testing.T, dir string) (open []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Fatalf("%d files are open, %v; want some links, no error", len(links), err)
	}
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && strings.HasPrefix(path, dir) {
			open = append(open, filepath.Base(path))
		}
	}
	return open
}

// A directory may hold thousands of instances, but a process may open only a thousand files.
func TestNoFileStaysOpen(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, `{"z": {"model_name_or_path": "m", "instance_id": "z", "model_patch": "p"}}`, dir, "preds.json")
	write(t, `{"info": {"exit_status": "Submitted"}}`, dir, "z", "z.traj.json")
	s := open(t, dir)
	put(t, s, result("a", "p"))
	tell(t, begin(t, s, "b"), twoSteps...)
	closeStore(t, s)
	if err := os.Remove(filepath.Join(dir, "preds.json")); err != nil { // a's prediction is restored from its journal
		t.Fatal(err)
	}
	write(t, `{"z": {"model_name_or_path": "m", "instance_id": "z", "model_patch": "p"}}`, dir, "preds.json")
	for range 2 {
		s = open(t, dir)
		for _, id := range []string{"a", "b", "z"} {
			s.Finished(id)
			_, _ = s.History(id)
			_, _, _ = journal.Read(filepath.Join(dir, id, "journal.jsonl"))
		}
		if h, err := s.History("b"); err != nil {
			t.Error(err)
		} else if _, err := h.Output(1, 1); err != nil {
			t.Error(err)
		}
		a, _, err := s.Resume("b", manifest.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		closeStore(t, s)
		if _, err := results.Read(dir); err != nil {
			t.Error(err)
		}
		if got := left(t, dir); len(got) > 0 {
			t.Errorf("open after all: %s, want nothing", got)
		}
	}
}
