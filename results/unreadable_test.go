package results_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// sealed is a journal's line with the checksum of its content.
func sealed(body string) string {
	return fmt.Sprintf("%s,\"crc\":\"%08x\"}\n", body, castagnoli(body))
}

// resealed changes the journal's first record of a type, checksum included.
func resealed(t *testing.T, journal, typ, old, now string) string {
	t.Helper()
	lines := strings.SplitAfter(journal, "\n")
	for i, line := range lines {
		if body, _, _ := strings.Cut(line, `,"crc":"`); strings.Contains(body, `"type":"`+typ+`"`) && strings.Contains(body, old) {
			lines[i] = sealed(strings.Replace(body, old, now, 1))
			return strings.Join(lines, "")
		}
	}
	t.Fatalf("no record of type %s holds %s", typ, old)
	return ""
}

// A checksum shows that a record is unchanged, not that it makes sense.
func TestErrorsNameAnInvalidRecord(t *testing.T) {
	finished := func(t *testing.T, s *results.Store) { put(t, s, result("a", "p")) }
	for name, c := range map[string]struct {
		make func(t *testing.T, s *results.Store)
		edit func(t *testing.T, journal string) string
		want string
	}{
		"an end": {finished, func(t *testing.T, journal string) string {
			return resealed(t, journal, "end", `"record":{`, `"record":7,"was":{`)
		}, "reading the end record"},
		"a reset": {func(t *testing.T, s *results.Store) {
			finished(t, s)
			if err := s.Reset([]string{"a"}, false); err != nil {
				t.Fatal(err)
			}
		}, func(t *testing.T, journal string) string {
			return resealed(t, journal, "reset", `"earlier":[`, `"earlier":7,"was":[`)
		}, "reading the reset record"},
		"an attempt": {func(t *testing.T, s *results.Store) { begin(t, s, "a") }, func(t *testing.T, journal string) string {
			return resealed(t, journal, "attempt", `"owner":`, `"earlier":7,"owner":`)
		}, "reading the attempt record"},
		"another prediction than the end's": {finished, func(t *testing.T, journal string) string {
			return resealed(t, journal, "prediction", `"p"`, `"q"`)
		}, "it differs from the digest in the end record"},
		"no prediction before the end": {finished, func(t *testing.T, journal string) string {
			return resealed(t, journal, "prediction", `"type":"prediction"`, `"type":"other"`)
		}, "it differs from the digest in the end record"},
		"a prediction that is none": {finished, func(t *testing.T, journal string) string {
			return resealed(t, journal, "prediction", `"model_patch":"p"`, `"model_patch":7`)
		}, "reading the prediction"},
		"no JSON": {finished, func(_ *testing.T, journal string) string { return journal + sealed(`{nothing`) }, "reading a journal record"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			put(t, s, result("b", "good"))
			c.make(t, s)
			closeStore(t, s)
			path := filepath.Join(dir, "a", "journal.jsonl")
			write(t, c.edit(t, read(t, path)), path)
			if err := os.Remove(filepath.Join(dir, "preds.json")); err != nil {
				t.Fatal(err)
			}
			_, err := results.Open(dir, results.Options{})
			if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v (%v); want an Instance fault with %q, with %q", err, fault.KindOf(err), c.want, path)
			}
			snap, err := results.Read(dir)
			if strings.Contains(name, "prediction") {
				if err == nil {
					t.Error("the record was accepted")
				}
				return
			}
			note := "a: its journal cannot be read; it is counted as not run: reading " + path
			if err != nil || len(snap.Records) != 1 || snap.Records[0].InstanceID != "b" || !strings.Contains(strings.Join(snap.Notes, "\n"), note) {
				t.Errorf("reading: %+v, %v; want 1 record, instance ID %q, %q in the notes, no error", snap, err, "b", note)
				return
			}
			if diff := cmp.Diff([]string{"a", "b"}, snap.Asked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPredictionCountsWhereTheJournalCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "p"))
	closeStore(t, s)
	path := filepath.Join(dir, "a", "journal.jsonl")
	write(t, resealed(t, read(t, path), "end", `"record":{`, `"record":7,"was":{`), path)
	snap, err := results.Read(dir)
	if err != nil || len(snap.Records) != 1 || !snap.Records[0].Outcome.Final() {
		t.Fatalf("got %+v, %v; want one record that is a result", snap, err)
	}
	want := "a: its journal cannot be read; its prediction in preds.json is counted: reading " + path
	if len(snap.Notes) != 1 || !strings.HasPrefix(snap.Notes[0], want) {
		t.Errorf("notes %q, want one: %s", snap.Notes, want)
	}
}

func TestAPredictionOfANewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "p"))
	closeStore(t, s)
	path := filepath.Join(dir, "a", "journal.jsonl")
	write(t, resealed(t, read(t, path), "prediction", `{"v":2,`, `{"v":99,`), path)
	closeStore(t, open(t, dir)) // nothing has to be restored
	if err := os.Remove(filepath.Join(dir, "preds.json")); err != nil {
		t.Fatal(err)
	}
	_, err := results.Open(dir, results.Options{})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "newer batch") || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v (%v), hint %q; want a Usage fault, %q, with %q",
			err, fault.KindOf(err), fault.HintOf(err), "newer batch", path)
	}
}

// A folder in place of a file cannot be read or replaced by any user.
func TestFilesThatCannotBeReadOrWrittenAreAHostFault(t *testing.T) {
	for path, want := range map[string]string{
		"preds.json":      "reading predictions",
		"a/journal.jsonl": "opening a journal",
		".batch.lock":     "locking the output directory",
	} {
		dir := t.TempDir()
		write(t, "", dir, path, "file")
		if s, err := results.Open(dir, results.Options{}); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v (%v); want a Host fault with %q", path, err, fault.KindOf(err), want)
		} else if s != nil {
			t.Errorf("%s: it is opened, want nil", path)
		}
		snap, err := results.Read(dir)
		if path == "a/journal.jsonl" { // an unreadable journal does not hide other instances
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("reading with %s: got %+v, %v; want a Usage fault", path, snap, err)
			}
		} else if fault.KindOf(err) == fault.Usage || err == nil {
			t.Errorf("reading with %s: got %+v, %v; want an error, not a %v fault", path, snap, err, fault.Usage)
		}
	}
	for path, want := range map[string]string{
		"a/journal.jsonl/file": "journal",
		"a/agent.log/file":     "opening an instance's log",
		"a":                    "journal",
	} {
		dir := t.TempDir()
		s := open(t, dir)
		write(t, "", dir, path)
		_, err := s.Begin("a", manifest.Settings{})
		_, _, resumed := s.Resume("a", manifest.Settings{})
		for what, err := range map[string]error{"beginning": err, "resuming": resumed, "putting": putErr(t, s, result("a", "p"))} {
			if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), want) {
				t.Errorf("got %s with %s: %v (%v); want a Host fault with %q", what, path, err, fault.KindOf(err), want)
			}
		}
		if _, ok := s.Finished("a"); ok {
			t.Errorf("%s: the instance counts as finished", path)
		}
	}
	for _, path := range []string{"a/a.patch", "a/a.traj.json"} {
		dir := t.TempDir()
		s := open(t, dir)
		write(t, "", dir, path, "file")
		if _, err := s.Put(t.Context(), result("a", "p")); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "saving a") {
			t.Errorf("%s: got %v (%v); want a Host fault with %q", path, err, fault.KindOf(err), "saving a")
		}
	}
	dir := t.TempDir()
	write(t, "", dir, "a")
	if _, err := journal.ReadHistory(filepath.Join(dir, "a", "journal.jsonl")); fault.KindOf(err) != fault.Host || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a history in a file: %v, want a Host fault, an error other than %v", err, fs.ErrNotExist)
	}
	write(t, "", dir, "b", "journal.jsonl", "file")
	if _, err := journal.ReadHistory(filepath.Join(dir, "b", "journal.jsonl")); fault.KindOf(err) != fault.Host || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a journal that is a folder: got error %v", err)
	}
	write(t, "", dir, "manifest.json", "file")
	if _, err := manifest.Read(dir); fault.KindOf(err) != fault.Host {
		t.Errorf("a manifest that is a folder: got error %v", err)
	}
}

func TestATrajectoryThatCannotBeDerivedIsOnlyReported(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	s, err := results.Open(dir, results.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	begin(t, s, "a")
	begin(t, s, "b")
	write(t, "", dir, "a", "a.traj.json", "file")
	closeStore(t, s)
	if !strings.Contains(log.String(), "instance=a") || strings.Contains(log.String(), "instance=b") {
		t.Errorf("the log says %s, want %q, no %q", &log, "instance=a", "instance=b")
	}
	if text := read(t, dir, "b", "b.traj.json"); !strings.Contains(text, "Interrupted") {
		t.Errorf("the other's is %s, want %q", text, "Interrupted")
	}
}

func TestATornJournalThatCannotBeCutStopsTheRun(t *testing.T) {
	dir := t.TempDir()
	whole := read(t, journalled(t, dir, 1))
	write(t, whole+"torn", dir, "a", "journal.jsonl")
	plan, err := inject.Parse("journal.cut:1=EIO")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := results.Open(dir, results.Options{Inject: plan}); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "truncating a torn journal") {
		t.Errorf("got %v (%v); want a Host fault with %q", err, fault.KindOf(err), "truncating a torn journal")
	}
	if got := read(t, dir, "a", "journal.jsonl"); got != whole+"torn" {
		t.Errorf("got %d bytes, were %d; want %v", len(got), len(whole)+4, whole+"torn")
	}
}

func TestAFailedResetIsReported(t *testing.T) {
	dir := t.TempDir()
	s := injected(t, dir, "journal.sync:2=EIO")
	if _, err := s.Put(t.Context(), result("a", "p")); err != nil {
		t.Fatal(err)
	}
	if err := s.Reset([]string{"a"}, false); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "syncing a journal") {
		t.Errorf("got %v (%v); want a Host fault with %q", err, fault.KindOf(err), "syncing a journal")
	}
	if _, ok := s.Finished("a"); !ok {
		t.Error("the result is reset in memory, but perhaps not on disk")
	}
}

func TestASalvageIsRemovedByAResultWithoutOne(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r := result("a", "")
	r.Submission, r.Salvage, r.Record.Salvaged = nil, []byte("salvaged\xff"), true
	if _, err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "a", "a.salvaged.patch"); got != "salvaged\xff" || s.Records()[0].PatchBytes != 9 {
		t.Errorf("got %q, %+v; want %q, patch bytes 9", got, s.Records()[0], "salvaged\xff")
	}
	again := result("a", "ab")
	again.Record.Attempt = 1
	if _, err := s.Put(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "a.salvaged.patch")); !errors.Is(err, fs.ErrNotExist) || s.Records()[0].PatchBytes != 2 {
		t.Errorf("the salvage: %v, %+v; want error %v, patch bytes 2", err, s.Records()[0], fs.ErrNotExist)
	}
	third := result("a", "abc")
	third.Record.Attempt, third.Submission = 1, nil
	if _, err := s.Put(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "a.patch")); !errors.Is(err, fs.ErrNotExist) || s.Records()[0].PatchBytes != 3 {
		t.Errorf("the patch: %v, %+v; want error %v, patch bytes 3", err, s.Records()[0], fs.ErrNotExist)
	}
}

func TestAJournalRefusesWhatItCannotWriteExactly(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := begin(t, s, "a")
	j := a.Journal()
	for name, err := range map[string]error{
		"a value that JSON cannot hold": j.Append(journal.TypeAction, make(chan int)),
		"a type of two words":           j.Append("two words", 1),
		"a type with a capital":         j.Append("Action", 1),
		"no type":                       j.Append("", 1),
	} {
		if fault.KindOf(err) != fault.Bug {
			t.Errorf("%s: got %v (%v); want a Bug fault", name, err, fault.KindOf(err))
		}
	}
	tell(t, a, journal.TypeRequest, request(1), journal.TypeReply, reply(1), journal.TypeAction, action(1, "a"), journal.TypeOutput, journal.OutputData{Step: 1})
	if err := j.Append("a_z", strings.Repeat("x", 256<<10)); err != nil { // more than is kept in memory
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a", "journal.jsonl")
	records, torn, err := journal.Read(path)
	if err != nil || torn != 0 || len(records) != 6 || records[5].Type != "a_z" || !strings.HasSuffix(string(records[4].Data), `"output":""}`) {
		t.Errorf("got %d records, torn %d, %v; want torn 0, 6 records, type %q, data ending in %q, no error",
			len(records), torn, err, "a_z", `"output":""}`)
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{"flushing": j.Flush(), "syncing": j.Sync()} {
		if fault.KindOf(err) != fault.Bug || !errors.Is(err, os.ErrClosed) {
			t.Errorf("got %s when closed: %v; want a Bug fault, error %v", name, err, os.ErrClosed)
		}
	}
}

func TestTheLastAttemptCountsUnlessAnotherToolWroteTheResult(t *testing.T) {
	r := func(attempt int, o vocab.Outcome) results.Record {
		return results.Record{InstanceID: "a", Attempt: attempt, Outcome: o}
	}
	for name, c := range map[string]struct {
		records []results.Record
		want    int
	}{
		"the last one": {[]results.Record{r(1, vocab.OutcomeSubmitted), r(2, vocab.OutcomeInfrastructure)}, 2},
		"the result of another tool where batch has none":                 {[]results.Record{r(0, vocab.OutcomeSubmitted), r(1, vocab.OutcomeInfrastructure), r(2, vocab.OutcomePending)}, 0},
		"batch's result where another tool has one too":                   {[]results.Record{r(0, vocab.OutcomeSubmitted), r(1, vocab.OutcomeLimit)}, 1},
		"batch's attempt where neither has a result":                      {[]results.Record{r(0, vocab.OutcomeInfrastructure), r(1, vocab.OutcomePending)}, 1},
		"batch's attempt where another tool's prediction is not a result": {[]results.Record{r(0, vocab.OutcomeInfrastructure), r(1, vocab.OutcomeEmpty)}, 1},
		"another tool's alone":                                            {[]results.Record{r(0, vocab.OutcomeInfrastructure)}, 0},
	} {
		for range 2 {
			if got := results.Latest(c.records)["a"]; got.Attempt != c.want {
				t.Errorf("%s: got %+v, want attempt %v", name, got, c.want)
			}
			slices.Reverse(c.records)
		}
	}
}
