package grading

import (
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

func TestAnAttemptThatRunsHasNoPatchYet(t *testing.T) {
	tier.Rest(t, "report", "results/*.go", "results/trajectory", "cmd/batch/show*.go")
	t.Parallel()
	dir := t.TempDir()
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Journal().Sync(); err != nil {
		t.Fatal(err)
	}
	out, err := e2e.Batch(t, dir, "show", ".", "a", "--diff").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "batch: a has no patch (running)\n") {
		t.Errorf("got %v and\n%s\nwant a failure with %q", err, out, "a has no patch (running)")
	}
}
