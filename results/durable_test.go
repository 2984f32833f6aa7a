package results_test

import (
	"errors"
	"fmt"
	"log/slog"
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

// injected opens dir with a plan of injected failures.
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
	t.Cleanup(func() { _ = s.Close() }) // may fail too
	return s
}

// A folder and a file keep their names after a power cut only if their parent folder was
// synced. Both must be synced before anything is paid for.
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

// After a failed fsync the system may have dropped the data and marked the pages
// clean: a later fsync that succeeds would prove nothing.
func TestAJournalWhoseSyncFailedStaysFailed(t *testing.T) {
	dir := t.TempDir()
	s := injected(t, dir, "journal.sync:1=EIO")
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	j := a.Journal()
	for what, err := range map[string]error{
		"the failed sync": j.Sync(),
		"another one":     j.Sync(),
		"a flush":         j.Flush(),
		"a record":        firstOf(j.Append(journal.TypeReply, reply(1)), j.Sync),
		"a result":        putErr(t, s, result("a", "p")),
	} {
		if fault.KindOf(err) == fault.Unknown {
			t.Errorf("%s: %v, want a fault", what, err)
		}
	}
	if err := a.Close(); err != nil {
		t.Errorf("Close repeats what was returned: %v", err)
	}
	if err := j.Sync(); fault.KindOf(err) == fault.Unknown {
		t.Errorf("a sync after Close: %v, want a fault", err)
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

func TestFilesOfAResultAreDurableBeforeItsRecord(t *testing.T) {
	// Put, in order: patch and trajectory renamed, then the folder, then the journal.
	for spec, want := range map[string]string{
		"file.write:1=EIO":   "saving a",
		"file.sync:1=EIO":    "saving a",
		"file.rename:2=EIO":  "saving a",
		"dir.sync:3=EIO":     "saving a",
		"journal.sync:1=EIO": "syncing a journal",
	} {
		s := injected(t, t.TempDir(), spec)
		_, err := s.Put(t.Context(), result("a", "p"))
		if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v (%v); want a Host fault with %q", spec, err, fault.KindOf(err), want)
		}
		if _, ok := s.Finished("a"); ok {
			t.Errorf("%s: the instance counts as finished", spec)
		}
	}
}

func TestAJournalIsReadableByItsOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "journal.jsonl")
	s := open(t, dir)
	put(t, s, failed("a"))
	if err := os.Chmod(path, 0o644); err != nil { // changed by the user, or from an older version
		t.Fatal(err)
	}
	put(t, s, failed("a"))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want mode %#o, no error", info.Mode(), err, 0o600)
	}
}

func TestDurabilityProcessDoesNotSync(t *testing.T) {
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

func TestDurabilityValues(t *testing.T) {
	for _, word := range []string{"power", "process"} {
		if d, err := journal.ParseDurability(word); err != nil || string(d) != word {
			t.Errorf("%q: got %q, %v; want %v, no error", word, d, err, word)
		}
	}
	if _, err := journal.ParseDurability("hope"); fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v, want a Usage fault", err)
	}
}

// lines receives the lines of a log as they are written.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

func TestPredictionsThatCannotBeWrittenAreReportedAndWrittenLater(t *testing.T) {
	dir := t.TempDir()
	s := injected(t, dir, "file.rename:3=ENOSPC,file.rename:4=ENOSPC") // after patch and trajectory: in the background, then on request
	log := make(lines, 100)
	s.SetLog(slog.New(slog.NewTextHandler(log, nil)))
	if _, err := s.Put(t.Context(), result("a", "p")); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(<-log, "predictions are behind") {
	}
	if err := s.WritePredictions(t.Context()); fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
		t.Errorf("on the full disk: got %v, want an error", err)
	}
	if err := s.Close(); err != nil { // there is room again
		t.Error(err)
	}
	if got := preds(t, dir)["a"].Patch; got != "p" {
		t.Errorf("patch %q, want %q", got, "p")
	}
}

// A second result of an attempt replaces the first only after preds.json has lost the
// first. Otherwise another tool would read one patch and people the other.
func TestAResultIsReplacedOnlyWhenItsPredictionIsGone(t *testing.T) {
	dir := t.TempDir()
	s := injected(t, dir, "")
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := firstOf(putErr(t, s, result("a", "one")), func() error { return s.WritePredictions(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "preds.json")
	for err = os.ErrExist; errors.Is(err, os.ErrExist); err = os.Mkdir(path, 0o755) { // cannot be replaced by a file
		_ = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), result("a", "two")); fault.KindOf(err) != fault.Host {
		t.Errorf("%v (%v), want a host's fault", err, fault.KindOf(err))
	}
	if got := read(t, dir, "a", "a.patch"); got != "one" {
		t.Errorf("the patch is %q, want %q", got, "one")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(putErr(t, s, result("a", "two")), a.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if got := preds(t, dir)["a"].Patch; got != "two" {
		t.Errorf("the prediction is %q, want %q", got, "two")
	}
}

func TestAFileThatCannotBeMovedAsideStopsTheRun(t *testing.T) {
	for path, text := range map[string]string{"preds.json": "\ufeff{}", "a/journal.jsonl": "somebody's\n"} {
		dir := t.TempDir()
		write(t, text, dir, path)
		plan, err := inject.Parse("file.rename:1=EIO")
		if err != nil {
			t.Fatal(err)
		}
		s, err := results.Open(dir, results.Options{Inject: plan})
		if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "aside") && !strings.Contains(err.Error(), "keeping the original") {
			t.Errorf("%s: %v (%v), want a host's fault", path, err, fault.KindOf(err))
		}
		if err == nil {
			_ = s.Close()
		}
		if got := read(t, dir, path); got != text {
			t.Errorf("%s: it holds %q, want %q", path, got, text)
		}
	}
}
