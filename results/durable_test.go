package results_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// injected opens dir with a plan of what goes wrong.
func injected(t *testing.T, dir, spec string) *results.Store {
	t.Helper()
	plan, err := inject.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := results.Open(dir, results.Options{FlushEvery: time.Hour, Inject: plan})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // which may fail as well
	return s
}

// A folder and a file have their names after a power cut only when the folder
// that they stand in was synced, both before anything is paid for.
func TestTheNamesOfANewInstanceAreDurableBeforeItBegins(t *testing.T) {
	for pass, want := range map[int]string{1: "syncing the output directory", 2: "creating ", 3: ""} {
		s := injected(t, t.TempDir(), fmt.Sprintf("dir.sync:%d=EIO", pass))
		a, err := s.Begin("a", manifest.Settings{})
		switch {
		case want == "" && err != nil:
			t.Errorf("pass %d: %v", pass, err)
		case want != "" && (err == nil || fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), want)):
			t.Errorf("pass %d: %v (%v), want a host's fault in %q", pass, err, fault.KindOf(err), want)
		}
		if a != nil {
			_ = a.Close()
		}
	}
}

// After a failed fsync the system may have dropped the data and call the file
// clean: another fsync that succeeds would say nothing.
func TestAJournalWhoseSyncFailedNeverSaysItIsSafe(t *testing.T) {
	dir := t.TempDir()
	s := injected(t, dir, "journal.sync:1=EIO")
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	j := a.Journal()
	for what, err := range map[string]error{
		"the failed sync":  j.Sync(),
		"another one":      j.Sync(),
		"a flush":          j.Flush(),
		"a record":         firstOf(j.Append(journal.TypeReply, reply(1)), j.Sync),
		"a result":         s.Put(t.Context(), result("a", "p")),
		"the end of it":    a.Close(),
		"and another sync": j.Sync(),
	} {
		if fault.KindOf(err) == fault.Unknown {
			t.Errorf("%s: %v, want a fault", what, err)
		}
	}
	if _, ok := s.Finished("a"); ok {
		t.Error("the instance counts as finished")
	}
}

func firstOf(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// A full disk is another matter: the lines are kept and written later.
func TestAJournalGoesOnWhenThereIsRoomAgain(t *testing.T) {
	dir := t.TempDir()
	s := injected(t, dir, "journal.write:2=ENOSPC")
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	j := a.Journal()
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := firstOf(j.Append(journal.TypeReply, reply(1)), j.Sync); fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
		t.Errorf("on the full disk: %v", err)
	}
	if err := firstOf(j.Append(journal.TypeReply, reply(2)), j.Sync); err != nil {
		t.Errorf("later: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	records, torn, err := journal.Read(filepath.Join(dir, "a", "journal.jsonl"))
	if err != nil || torn != 0 || len(records) != 3 || records[2].Calls != 2 {
		t.Errorf("%d records, torn %d, %v", len(records), torn, err)
	}
}

func TestWhatAResultLeavesIsDurableBeforeItCounts(t *testing.T) {
	// Of Put, in order: patch and trajectory renamed, the folder, the journal.
	for spec, want := range map[string]string{
		"file.write:1=EIO":   "saving a",
		"file.sync:1=EIO":    "saving a",
		"file.rename:2=EIO":  "saving a",
		"dir.sync:3=EIO":     "saving a",
		"journal.sync:1=EIO": "syncing a journal",
	} {
		s := injected(t, t.TempDir(), spec)
		err := s.Put(t.Context(), result("a", "p"))
		if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v (%v)", spec, err, fault.KindOf(err))
		}
		if _, ok := s.Finished("a"); ok {
			t.Errorf("%s: it counts as finished", spec)
		}
	}
}

func TestAJournalIsForItsOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "journal.jsonl")
	s := open(t, dir)
	put(t, s, failed("a"))
	if err := os.Chmod(path, 0o644); err != nil { // somebody's, or an older version's
		t.Fatal(err)
	}
	put(t, s, failed("a"))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestAProcessJournalIsWrittenAndNotSynced(t *testing.T) {
	dir := t.TempDir()
	plan, err := inject.Parse("journal.sync:*=EIO")
	if err != nil {
		t.Fatal(err)
	}
	s, err := results.Open(dir, results.Options{Durability: journal.Process, Inject: plan})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	tell(t, a, journal.TypeReply, reply(1)) // ends with a Sync
	records, _, err := journal.Read(filepath.Join(dir, "a", "journal.jsonl"))
	if err != nil || len(records) != 2 {
		t.Errorf("%d records in the file, %v", len(records), err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestDurabilityIsOneOfTwoWords(t *testing.T) {
	for _, word := range []string{"power", "process"} {
		if d, err := journal.ParseDurability(word); err != nil || string(d) != word {
			t.Errorf("%q: %q, %v", word, d, err)
		}
	}
	if _, err := journal.ParseDurability("hope"); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
}

func TestPredictionsThatCannotBeWrittenAreToldAndWrittenLater(t *testing.T) {
	dir := t.TempDir()
	s := injected(t, dir, "file.rename:3=ENOSPC,file.rename:4=ENOSPC") // behind patch and trajectory: in the background, and when asked
	if err := s.Put(t.Context(), result("a", "p")); err != nil {
		t.Fatal(err)
	}
	if err := s.WritePredictions(t.Context()); fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
		t.Errorf("on the full disk: %v", err)
	}
	if err := s.Close(); err != nil { // there is room again
		t.Error(err)
	}
	if got := preds(t, dir)["a"].Patch; got != "p" {
		t.Errorf("patch %q", got)
	}
}

// Until preds.json is rid of the first, a second result of an attempt replaces
// nothing: another tool would read the one patch and people the other.
func TestAResultIsReplacedOnlyWhenItsPredictionIsGone(t *testing.T) {
	dir := t.TempDir()
	s := injected(t, dir, "")
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := firstOf(s.Put(t.Context(), result("a", "one")), func() error { return s.WritePredictions(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "preds.json")
	for err = os.ErrExist; errors.Is(err, os.ErrExist); err = os.Mkdir(path, 0o755) { // cannot be replaced by a file
		_ = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), result("a", "two")); fault.KindOf(err) != fault.Host {
		t.Errorf("%v (%v), want a host's fault", err, fault.KindOf(err))
	}
	if got := read(t, dir, "a", "a.patch"); got != "one" {
		t.Errorf("the patch is %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Put(t.Context(), result("a", "two")), a.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if got := preds(t, dir)["a"].Patch; got != "two" {
		t.Errorf("the prediction is %q", got)
	}
}

func TestWhatCannotBeMovedAsideStaysAndStopsTheRun(t *testing.T) {
	for _, path := range []string{"preds.json", "a/journal.jsonl"} {
		dir := t.TempDir()
		write(t, "somebody's\n", dir, path)
		plan, err := inject.Parse("file.rename:1=EIO")
		if err != nil {
			t.Fatal(err)
		}
		s, err := results.Open(dir, results.Options{Inject: plan})
		if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "aside") {
			t.Errorf("%s: %v (%v), want a host's fault", path, err, fault.KindOf(err))
		}
		if err == nil {
			_ = s.Close()
		}
		if got := read(t, dir, path); got != "somebody's\n" {
			t.Errorf("%s: it holds %q", path, got)
		}
	}
}
