package results_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// tree returns every file of a directory with its content and times.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files[path] = info.ModTime().String()
		if !d.IsDir() {
			text, err := os.ReadFile(path)
			files[path] += string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestReadingADirectoryInUseChangesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := asked()
	m.Dataset.Instances = []string{"done__1", "never__1", "runs__1"}
	if err := s.WriteManifest(m); err != nil {
		t.Fatal(err)
	}
	done := &results.Result{Prediction: "diff", Record: results.Record{
		InstanceID: "done__1", Outcome: vocab.OutcomeSubmitted, Status: "Submitted", Model: "m", Cost: 0.5,
	}}
	if _, err := s.Put(context.Background(), done); err != nil {
		t.Fatal(err)
	}
	a, err := s.Begin("runs__1", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Journal().Append(journal.TypeReply, journal.ReplyData{Step: 1, Cost: 0.25}); err != nil {
		t.Fatal(err)
	}
	if err := a.Journal().Sync(); err != nil {
		t.Fatal(err)
	}
	if snap, err := results.Read(dir); err != nil || snap.Spent != 0.75 || snap.Owner == "" {
		t.Errorf("got %+v, %v; want spent 0.75, some owner, no error", snap, err)
	}
	// From here on the directory only looks as if a run used it.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	unlock, err := results.Lock(dir, results.DefaultOwner()+"\nfor programs")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unlock() }()
	// A reader may find this in the middle of a write, and must not fix it.
	appendTo(t, filepath.Join(dir, "runs__1", "journal.jsonl"), `{"v":1,"seq":3,"attem`)
	write(t, "half", dir, "done__1", ".done__1.patch.tmp-1")
	before := tree(t, dir)

	snap, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("reading changed the directory:\n%s", diff)
	}
	if !strings.HasPrefix(snap.Owner, "host ") || strings.Contains(snap.Owner, "programs") || len(snap.Notes) > 0 {
		t.Errorf("got in use by %q, notes %q", snap.Owner, snap.Notes)
	}
	if snap.Spent != 0.75 || len(snap.Records) != 2 || snap.Records[1].Status != vocab.StatusRunning || snap.Records[1].Cost != 0.25 {
		t.Errorf("spent %v, records %+v; want spent 0.75, 2 records, status %v, cost 0.25",
			snap.Spent, snap.Records, vocab.StatusRunning)
	}
	if diff := cmp.Diff([]string{"done__1", "never__1", "runs__1"}, snap.Asked()); diff != "" {
		t.Errorf("asked for %s, want no difference", diff)
	}
}

func TestReadingTheDirectoryOfACrashedRun(t *testing.T) {
	dir := t.TempDir()
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin("x__1", manifest.Settings{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, "damaged\n{}\n", dir, "y__1", "journal.jsonl")
	write(t, `{"z__1": {"model_pa`, dir, "preds.json")
	write(t, results.DefaultOwner()+"\nand more\n", dir, ".batch.lock") // its process id has been given to another process
	before := tree(t, dir)
	snap, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("reading changed the directory:\n%s", diff)
	}
	notes := strings.Join(snap.Notes, "\n")
	if snap.Owner != "" || !strings.Contains(notes, "crashed or was killed") || !strings.Contains(notes, "the file is cut") {
		t.Errorf("got in use by %q, notes %s", snap.Owner, notes)
	}
	if len(snap.Records) != 1 || snap.Records[0].Status != "Interrupted" {
		t.Errorf("records %+v, want 1 record, status %q", snap.Records, "Interrupted")
	}
}

func TestReadingADirectoryThatIsNotARun(t *testing.T) {
	dir := t.TempDir()
	write(t, "x", dir, "file")
	for _, path := range []string{dir, filepath.Join(dir, "none"), filepath.Join(dir, "file")} {
		if _, err := results.Read(path); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a Usage fault", path, err)
		}
	}
	inside := filepath.Join(dir, "gold")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, "{}", inside, manifest.File)
	if _, err := results.Read(dir); fault.HintOf(err) != "did you mean "+inside+"?" {
		t.Errorf("%v, %s; want a hint at %s", err, fault.HintOf(err), inside)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReadingADirectoryThatCannotBeReadNamesIt(t *testing.T) {
	dir := t.TempDir()
	// In place of a file without permission, which root could read.
	if err := os.Mkdir(filepath.Join(dir, ".batch.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := results.Read(dir)
	if fault.KindOf(err) != fault.Host || !strings.HasPrefix(err.Error(), "reading the run directory: ") || fault.HintOf(err) == "" {
		t.Errorf("got %v (%s), want a Host fault with a hint", err, fault.HintOf(err))
	}
}

func TestReadingReportsPredictionsThatTheNextRunPutsBack(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "p"))
	closeStore(t, s)
	path := filepath.Join(dir, "preds.json")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	snap, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := "preds.json: 1 missing prediction will be put back from the journals by the next run"
	if len(snap.Notes) != 1 || snap.Notes[0] != want {
		t.Errorf("notes %q, want one: %s", snap.Notes, want)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("reading wrote preds.json, want it unchanged")
	}
}

// Reading finds out whether the lock is held, and keeps the name of a dead owner.
func TestReadingTakesNoLock(t *testing.T) {
	dir := t.TempDir()
	lock := results.LockPath(dir)
	if err := os.WriteFile(lock, []byte("host nowhere, pid 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	s, err := results.Look(dir)
	if err != nil || len(s.Recovered()) != 1 || !strings.Contains(s.Recovered()[0], "the last run (process 1 on nowhere) crashed") {
		t.Fatalf("%v, %v", s, err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("reading changed the directory:\n%s", diff)
	}
	owner, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	_, err = results.Look(dir)
	if _, locked := errors.AsType[*results.LockedError](err); !locked {
		t.Errorf("the directory is in use, but reading reports %v", err)
	}
}

// Only a run that writes cleans up the earlier trajectories: reading the last attempt does not
// depend on them.
func TestReadingDoesNotNeedTheEarlierTrajectories(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "p"))
	closeStore(t, s)
	write(t, "not a folder", dir, "a", "attempts")
	if snap, err := results.Read(dir); err != nil || len(snap.Records) != 1 || snap.Records[0].Attempt != 1 || len(snap.Notes) > 0 {
		t.Errorf("got %+v, %v; want attempt 1 and no notes", snap, err)
	}
	_, looked := results.Look(dir)
	_, opened := results.Open(dir, results.Options{})
	if fault.KindOf(looked) != fault.Host || fault.KindOf(opened) != fault.Host {
		t.Errorf("looked: %v, opened: %v; want Host faults", looked, opened)
	}
}
