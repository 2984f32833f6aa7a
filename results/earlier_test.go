package results_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/results"
)

// attemptSaying makes an attempt with the given word as its conversation.
func attemptSaying(t *testing.T, s *results.Store, word string) {
	t.Helper()
	a := begin(t, s, "a")
	tell(t, a, journal.TypeContainer, container, journal.TypeMessages, says(word),
		journal.TypeRequest, request(1), journal.TypeReply, reply(1))
	end(t, s, a, result("a", word))
	if err := s.Reset([]string{"a"}, true); err != nil {
		t.Fatal(err)
	}
}

func TestEarlierTrajectoriesAreKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var were []string
	for _, word := range []string{"first", "second"} {
		attemptSaying(t, s, word)
		were = append(were, read(t, dir, "a", "a.traj.json"))
	}
	a := begin(t, s, "a") // the third is interrupted
	tell(t, a, journal.TypeContainer, container, journal.TypeMessages, says("third"), journal.TypeRequest, request(1))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	attemptSaying(t, s, "fourth")
	closeStore(t, s)
	third := read(t, dir, "a", "attempts", "3.json")
	if !strings.Contains(third, `"third"`) || !strings.Contains(third, `"exit_status": "Interrupted"`) {
		t.Errorf("the interrupted attempt is kept as\n%s", third)
	}
	were = append(were, third)
	check := func(when string) {
		t.Helper()
		for i, was := range were {
			if got := read(t, results.EarlierTrajectory(dir, "a", i+1)); got != was {
				t.Errorf("%s: attempt %d is kept as\n%s\nwant\n%s", when, i+1, got, was)
			}
		}
		if files, err := os.ReadDir(filepath.Join(dir, "a", "attempts")); err != nil || len(files) != 3 {
			t.Errorf("%s: got %v, %v; want 3 files, no error", when, files, err)
		}
	}
	check("after the runs")
	if err := os.RemoveAll(filepath.Join(dir, "a", "attempts")); err != nil {
		t.Fatal(err)
	}
	closeStore(t, open(t, dir))
	check("deleted, and opened again")
	write(t, "half", dir, "a", "attempts", ".2.json123")
	closeStore(t, open(t, dir))
	check("after a crash")
	for number, want := range map[int]string{1: were[0], 2: were[1], 3: third, 0: read(t, dir, "a", "a.traj.json")} {
		var b bytes.Buffer
		if err := results.WriteTrajectory(&b, dir, "a", number, nil); err != nil || b.String() != want {
			t.Errorf("attempt %d is written as %v\n%s\nwant\n%s", number, err, b.String(), want)
		}
	}
	if err := results.WriteTrajectory(&bytes.Buffer{}, dir, "a", 5, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("attempt 5: %v, want error %v", err, fs.ErrNotExist)
	}
	if err := results.WriteTrajectory(&bytes.Buffer{}, dir, "b", 0, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unknown instance: got error %v", err)
	}
}

func TestATrajectoryWithoutAJournalIsKeptAsAttemptZero(t *testing.T) {
	dir := t.TempDir()
	write(t, "another tool's", dir, "a", "a.traj.json")
	s := open(t, dir)
	attemptSaying(t, s, "last")
	closeStore(t, s)
	if got := read(t, results.EarlierTrajectory(dir, "a", 0)); got != "another tool's" {
		t.Errorf("the earlier trajectory is kept as %q", got)
	}
	if got := read(t, dir, "a", "a.traj.json"); !strings.Contains(got, "last") {
		t.Errorf("the last trajectory is\n%s", got)
	}
}

func TestAnUnreadableEarlierAttemptDoesNotPreventANewOne(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := begin(t, s, "a")
	tell(t, a, journal.TypeOutput, output(1, "x")) // without an action
	end(t, s, a, failed("a"))
	attemptSaying(t, s, "next")
	if _, err := os.Stat(results.EarlierTrajectory(dir, "a", 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was written for the unreadable attempt: %v", err)
	}
}
