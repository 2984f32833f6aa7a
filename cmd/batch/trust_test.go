package main

import (
	"bytes"
	"os"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/run"
)

// What a user gave or agreed to is known later, but not to a user without a home.
func TestWhatADirectoryNamesIsAskedOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	for home, asked := range map[string]bool{t.TempDir(): false, "": true} {
		a := &app{stderr: &bytes.Buffer{}, home: home, getenv: func(string) string { return "" }, mask: mask.New()}
		named := func() []string { return []string{"the engine ssh://host"} }
		resumed := &runFlags{Continuing: run.Continuing{Settled: true}}
		if err := a.trusted(resumed, "d", named()); fault.KindOf(err) != fault.Usage {
			t.Errorf("home %q: %v, want a refusal before anything is known", home, err)
		}
		if err := a.trusted(&runFlags{}, "d", named()); err != nil {
			t.Errorf("home %q: a run: %v", home, err)
		}
		if err := a.trusted(resumed, "d", named()); (err != nil) != asked {
			t.Errorf("home %q: after the run: %v, want a refusal: %v", home, err, asked)
		}
		if err := a.trusted(resumed, "d", []string{"the engine ssh://other"}); err == nil {
			t.Errorf("home %q: another engine was not asked about", home)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("the working directory has %v (%v), want nothing", left, err)
	}
}
