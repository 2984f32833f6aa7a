package results_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// shipped is a new directory that has a's journal of dir alone.
func shipped(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	write(t, read(t, dir, "a", "journal.jsonl"), copied, "a", "journal.jsonl")
	return copied
}

// A journal of an earlier version has no record of what was salvaged.
func TestAPatchThatItsJournalDoesNotTellOfIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, failed("a"))
	closeStore(t, s)
	if err := os.Remove(filepath.Join(dir, "a", "a.traj.json")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.patch", "a.salvaged.patch"} {
		write(t, "the only copy", dir, "a", name)
		closeStore(t, open(t, dir))
		if got := read(t, dir, "a", name); got != "the only copy" {
			t.Errorf("%s holds %q", name, got)
		}
	}
}

func TestWhatCannotBeDerivedIsTold(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := begin(t, s, "a")
	tell(t, a, journal.TypeOutput, output(1, "x")) // of no action
	end(t, s, a, failed("a"))
	closeStore(t, s)
	s = open(t, shipped(t, dir))
	defer closeStore(t, s)
	if told := strings.Join(s.Recovered(), "\n"); !strings.Contains(told, "a: what its journal tells could not be written: ") || !strings.Contains(told, "no request") {
		t.Errorf("told %q", told)
	}
}

func TestWhatALaterResultDoesNotHaveIsNotDerivedEither(t *testing.T) {
	salvaged := failed("a")
	salvaged.Salvage = []byte("diff")
	for name, first := range map[string]*results.Result{"submitted": result("a", "patch"), "salvaged": salvaged} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			n := put(t, s, first)
			second := failed("a")
			second.Record.Attempt = n
			if err := s.Put(t.Context(), second); err != nil || second.Record.Attempt != n {
				t.Fatal(err, second.Record.Attempt)
			}
			closeStore(t, s)
			copied := shipped(t, dir)
			closeStore(t, open(t, copied))
			if got, want := read(t, copied, "a", "a.traj.json"), read(t, dir, "a", "a.traj.json"); got != want {
				t.Errorf("trajectory %s\nwant %s", got, want)
			}
			for _, name := range []string{"a.patch", "a.salvaged.patch"} {
				if _, err := os.Stat(filepath.Join(copied, "a", name)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestAnEmptySubmissionIsDerivedAsOne(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := begin(t, s, "a")
	tell(t, a, journal.TypeSubmission, journal.SubmissionData{})
	end(t, s, a, result("a", ""))
	closeStore(t, s)
	copied := shipped(t, dir)
	closeStore(t, open(t, copied))
	if got := read(t, copied, "a", "a.patch"); got != "" {
		t.Errorf("%q", got)
	}
}

// The tries of an attempt that fails again and again salvage the same.
func TestASalvageStandsOnceHoweverOftenItsAttemptFails(t *testing.T) {
	const patch = "a patch that is not short"
	dir := t.TempDir()
	fail := func(s *results.Store, a *results.Attempt) {
		r := failed("a")
		r.Record.Steps, r.Salvage = 2, []byte(patch)
		end(t, s, a, r)
		closeStore(t, s)
	}
	s := open(t, dir)
	a := begin(t, s, "a")
	tell(t, a, twoSteps...)
	fail(s, a)
	for range 2 {
		s = open(t, dir)
		a, _ = resume(t, s, "a")
		fail(s, a)
	}
	if n := strings.Count(read(t, dir, "a", "journal.jsonl"), base64.StdEncoding.EncodeToString([]byte(patch))); n != 1 {
		t.Errorf("it stands %d times", n)
	}
	copied := shipped(t, dir)
	closeStore(t, open(t, copied))
	if got := read(t, copied, "a", "a.salvaged.patch"); got != patch {
		t.Errorf("%q", got)
	}
}

func TestAConfigIsToldWhoeverItsVersionIs(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a, err := s.Begin("a", manifest.Settings{Config: map[string]any{"agent": map[string]any{"step_limit": 3}}})
	if err != nil {
		t.Fatal(err)
	}
	end(t, s, a, failed("a"))
	closeStore(t, s)
	var got results.Trajectory
	if err := json.Unmarshal([]byte(read(t, dir, "a", "a.traj.json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Info.Config["agent"] == nil {
		t.Errorf("config %v", got.Info.Config)
	}
}
