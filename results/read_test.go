package results_test

import (
	"context"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
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
	if err := s.Put(context.Background(), done); err != nil {
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
		t.Errorf("%+v, %v", snap, err)
	}
	// From here on nothing works there, but it looks so.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, results.DefaultOwner()+"\nfor programs\n", dir, ".batch.lock")
	// What a reader meets in the middle of a writing, and would be tempted to mend.
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
		t.Errorf("in use by %q, notes %q", snap.Owner, snap.Notes)
	}
	if snap.Spent != 0.75 || len(snap.Records) != 2 || snap.Records[1].Status != vocab.StatusRunning || snap.Records[1].Cost != 0.25 {
		t.Errorf("spent %v, records %+v", snap.Spent, snap.Records)
	}
	if diff := cmp.Diff([]string{"done__1", "never__1", "runs__1"}, snap.Asked()); diff != "" {
		t.Errorf("asked for %s", diff)
	}
}

func TestReadingWhatDeadRunsLeft(t *testing.T) {
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
	host, _ := os.Hostname()
	write(t, "host "+host+", pid 4194305, since now\nand more\n", dir, ".batch.lock") // above any pid there is
	before := tree(t, dir)
	snap, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("reading changed the directory:\n%s", diff)
	}
	notes := strings.Join(snap.Notes, "\n")
	if snap.Owner != "" || !strings.Contains(notes, "ended without closing") || !strings.Contains(notes, "preds.json is corrupt") {
		t.Errorf("in use by %q, notes %s", snap.Owner, notes)
	}
	if len(snap.Records) != 1 || snap.Records[0].Status != "Interrupted" {
		t.Errorf("records %+v", snap.Records)
	}
}

// Whether an owner lives is asked with signal 0, which reaches nobody.
func TestReadingDisturbsNoOwner(t *testing.T) {
	dir := t.TempDir()
	put(t, open(t, dir), result("a", "p"))
	write(t, results.DefaultOwner()+"\n", dir, ".batch.lock")
	heard := make(chan os.Signal, 2)
	signal.Notify(heard, syscall.SIGHUP, syscall.SIGUSR1)
	defer signal.Stop(heard)
	if snap, err := results.Read(dir); err != nil || snap.Owner == "" {
		t.Errorf("%+v, %v", snap, err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if s := <-heard; s != syscall.SIGUSR1 {
		t.Errorf("reading sent its owner %v", s)
	}
}

func TestReadingWhatIsNoRunDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, "x", dir, "file")
	for _, path := range []string{dir, filepath.Join(dir, "none"), filepath.Join(dir, "file")} {
		if _, err := results.Read(path); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a Usage fault", path, err)
		}
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
