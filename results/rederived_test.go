package results_test

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/results"
)

// shipped is a new directory that has only the journal of a from dir.
func shipped(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	write(t, read(t, dir, "a", "journal.jsonl"), copied, "a", "journal.jsonl")
	return copied
}

// A journal of an earlier version has no record of a salvage.
func TestAPatchThatIsNotInItsJournalIsKept(t *testing.T) {
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
			t.Errorf("%s holds %q; want %q", name, got, "the only copy")
		}
	}
}

func TestFilesThatCannotBeDerivedAreReported(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := begin(t, s, "a")
	tell(t, a, journal.TypeOutput, output(1, "x")) // without an action
	end(t, s, a, failed("a"))
	closeStore(t, s)
	s = open(t, shipped(t, dir))
	defer closeStore(t, s)
	if told := strings.Join(s.Recovered(), "\n"); !strings.Contains(told, "a: what its journal tells could not be written: ") || !strings.Contains(told, "no request") {
		t.Errorf("recovered %q, want %q in the report, %q in the report",
			told, "a: what its journal tells could not be written: ", "no request")
	}
}

func TestFilesThatTheLastResultLacksAreNotDerived(t *testing.T) {
	salvaged := failed("a")
	salvaged.Salvage = []byte("diff")
	for name, first := range map[string]*results.Result{"submitted": result("a", "patch"), "salvaged": salvaged} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			n := put(t, s, first)
			second := failed("a")
			second.Record.Attempt = n
			if _, err := s.Put(t.Context(), second); err != nil || second.Record.Attempt != n {
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
					t.Errorf("%s: got %v, want error %v", name, err, fs.ErrNotExist)
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
		t.Errorf("got %q, want nothing", got)
	}
}

// The tries of an attempt that keeps failing salvage the same patch.
func TestASalvageIsJournaledOnce(t *testing.T) {
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
		t.Errorf("it stands %d times, want 1", n)
	}
	copied := shipped(t, dir)
	closeStore(t, open(t, copied))
	if got := read(t, copied, "a", "a.salvaged.patch"); got != patch {
		t.Errorf("got %q, want %v", got, patch)
	}
}
