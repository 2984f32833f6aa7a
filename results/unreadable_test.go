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

	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// sealed is a journal's line with the checksum of what stands in it.
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

// A checksum says that a record is what was written, not that it makes sense.
func TestARecordThatMeansNothingIsNamed(t *testing.T) {
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
		}, "not the one that the end record names"},
		"no prediction before the end": {finished, func(t *testing.T, journal string) string {
			return resealed(t, journal, "prediction", `"type":"prediction"`, `"type":"other"`)
		}, "not the one that the end record names"},
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
				t.Errorf("%v (%v)", err, fault.KindOf(err))
			}
			snap, err := results.Read(dir)
			if strings.Contains(name, "prediction") {
				if err == nil {
					t.Error("it reads as if nothing were wrong")
				}
				return
			}
			if err != nil || len(snap.Records) != 1 || snap.Records[0].InstanceID != "b" || !strings.Contains(strings.Join(snap.Notes, "\n"), "a is left out") {
				t.Errorf("reading: %+v, %v", snap, err)
			}
		})
	}
}

func TestAPredictionOfANewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "p"))
	closeStore(t, s)
	path := filepath.Join(dir, "a", "journal.jsonl")
	write(t, resealed(t, read(t, path), "prediction", `{"v":2,`, `{"v":3,`), path)
	closeStore(t, open(t, dir)) // nothing has to be put back
	if err := os.Remove(filepath.Join(dir, "preds.json")); err != nil {
		t.Fatal(err)
	}
	_, err := results.Open(dir, results.Options{})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "newer batch") || !strings.Contains(err.Error(), path) {
		t.Errorf("%v (%v), hint %q", err, fault.KindOf(err), fault.HintOf(err))
	}
}

// A folder where a file should be cannot be read or replaced, by anybody.
func TestWhatCannotBeReadOrWrittenIsTheHostsFault(t *testing.T) {
	for path, want := range map[string]string{
		"preds.json":      "reading predictions",
		"a/journal.jsonl": "reading",
		".batch.lock":     "locking the output directory",
	} {
		dir := t.TempDir()
		write(t, "", dir, path, "file")
		if s, err := results.Open(dir, results.Options{}); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v (%v)", path, err, fault.KindOf(err))
		} else if s != nil {
			t.Errorf("%s: it is opened", path)
		}
		snap, err := results.Read(dir)
		if path == "a/journal.jsonl" { // one that says nothing hides no other
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("reading with %s: %+v, %v", path, snap, err)
			}
		} else if fault.KindOf(err) == fault.Usage || err == nil {
			t.Errorf("reading with %s: %+v, %v", path, snap, err)
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
		for what, err := range map[string]error{"beginning": err, "resuming": resumed, "putting": s.Put(t.Context(), result("a", "p"))} {
			if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %s: %v (%v)", what, path, err, fault.KindOf(err))
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
		if err := s.Put(t.Context(), result("a", "p")); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "saving a") {
			t.Errorf("%s: %v (%v)", path, err, fault.KindOf(err))
		}
	}
	dir := t.TempDir()
	write(t, "", dir, "a")
	if _, err := journal.ReadHistory(filepath.Join(dir, "a", "journal.jsonl")); fault.KindOf(err) != fault.Host || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a history in a file: %v", err)
	}
	write(t, "", dir, "b", "journal.jsonl", "file")
	if _, err := journal.ReadHistory(filepath.Join(dir, "b", "journal.jsonl")); fault.KindOf(err) != fault.Host || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a journal that is a folder: %v", err)
	}
	write(t, "", dir, "manifest.json", "file")
	if _, err := manifest.Read(dir); fault.KindOf(err) != fault.Host {
		t.Errorf("a manifest that is a folder: %v", err)
	}
}

func TestATrajectoryThatCannotBeDerivedIsToldAndHoldsUpNothing(t *testing.T) {
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
		t.Errorf("the log says %s", &log)
	}
	if text := read(t, dir, "b", "b.traj.json"); !strings.Contains(text, "Interrupted") {
		t.Errorf("the other's is %s", text)
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
	if _, err := results.Open(dir, results.Options{Inject: plan}); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "cutting a torn journal") {
		t.Errorf("%v (%v)", err, fault.KindOf(err))
	}
	if got := read(t, dir, "a", "journal.jsonl"); got != whole+"torn" {
		t.Errorf("%d bytes, were %d", len(got), len(whole)+4)
	}
}

func TestAResetThatFailsIsTold(t *testing.T) {
	dir := t.TempDir()
	s := injected(t, dir, "journal.sync:2=EIO")
	if err := s.Put(t.Context(), result("a", "p")); err != nil {
		t.Fatal(err)
	}
	if err := s.Reset([]string{"a"}, false); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "syncing a journal") {
		t.Errorf("%v (%v)", err, fault.KindOf(err))
	}
	if _, ok := s.Finished("a"); !ok {
		t.Error("it is forgotten here, and on disk perhaps not")
	}
}

func TestAResetThatCannotBeWrittenIsTold(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "p"))
	path := filepath.Join(dir, "a", "journal.jsonl")
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := s.Reset([]string{"a"}, false); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "journal") {
		t.Errorf("%v (%v)", err, fault.KindOf(err))
	}
}

func TestASalvageIsKeptBesideTheResultUntilAnotherHasNone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r := result("a", "")
	r.Submission, r.Salvage, r.Record.Salvaged = nil, []byte("salvaged\xff"), true
	if err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "a", "a.salvaged.patch"); got != "salvaged\xff" || s.Records()[0].PatchBytes != 9 {
		t.Errorf("%q, %+v", got, s.Records()[0])
	}
	again := result("a", "ab")
	again.Record.Attempt = 1
	if err := s.Put(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "a.salvaged.patch")); !errors.Is(err, fs.ErrNotExist) || s.Records()[0].PatchBytes != 2 {
		t.Errorf("the salvage: %v, %+v", err, s.Records()[0])
	}
	third := result("a", "abc")
	third.Record.Attempt, third.Submission = 1, nil
	if err := s.Put(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "a.patch")); !errors.Is(err, fs.ErrNotExist) || s.Records()[0].PatchBytes != 3 {
		t.Errorf("the patch: %v, %+v", err, s.Records()[0])
	}
}

func TestAJournalTakesWhatItCanWriteExactly(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := begin(t, s, "a")
	j := a.Journal()
	for name, err := range map[string]error{
		"what is no JSON":       j.Append(journal.TypeAction, make(chan int)),
		"a type of two words":   j.Append("two words", 1),
		"a type with a capital": j.Append("Action", 1),
		"no type":               j.Append("", 1),
	} {
		if fault.KindOf(err) != fault.Bug {
			t.Errorf("%s: %v (%v)", name, err, fault.KindOf(err))
		}
	}
	tell(t, a, journal.TypeRequest, request(1), journal.TypeReply, reply(1), journal.TypeAction, action(1, "a"), journal.TypeOutput, journal.OutputData{Step: 1})
	if err := j.Append("a_z", strings.Repeat("x", 256<<10)); err != nil { // more than is kept in memory
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a", "journal.jsonl")
	records, torn, err := journal.Read(path)
	if err != nil || torn != 0 || len(records) != 6 || records[5].Type != "a_z" || !strings.HasSuffix(string(records[4].Data), `"output":""}`) {
		t.Errorf("%d records, torn %d, %v", len(records), torn, err)
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{"flushing": j.Flush(), "syncing": j.Sync()} {
		if fault.KindOf(err) != fault.Bug || !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s when closed: %v", name, err)
		}
	}
}

func TestTheLastAttemptCountsUnlessAnotherToolHasTheResult(t *testing.T) {
	r := func(attempt int, o vocab.Outcome) results.Record {
		return results.Record{InstanceID: "a", Attempt: attempt, Outcome: o}
	}
	for name, c := range map[string]struct {
		records []results.Record
		want    int
	}{
		"the last one":                            {[]results.Record{r(1, vocab.OutcomeSubmitted), r(2, vocab.OutcomeInfrastructure)}, 2},
		"another tool's, where ours has none":     {[]results.Record{r(0, vocab.OutcomeSubmitted), r(1, vocab.OutcomeInfrastructure), r(2, vocab.OutcomePending)}, 0},
		"ours, where another tool's is a result":  {[]results.Record{r(0, vocab.OutcomeSubmitted), r(1, vocab.OutcomeLimit)}, 1},
		"ours, where neither has one":             {[]results.Record{r(0, vocab.OutcomeInfrastructure), r(1, vocab.OutcomePending)}, 1},
		"ours, where another tool's is no result": {[]results.Record{r(0, vocab.OutcomeInfrastructure), r(1, vocab.OutcomeEmpty)}, 1},
		"another tool's alone":                    {[]results.Record{r(0, vocab.OutcomeInfrastructure)}, 0},
	} {
		for range 2 {
			if got := results.Latest(c.records)["a"]; got.Attempt != c.want {
				t.Errorf("%s: %+v", name, got)
			}
			slices.Reverse(c.records)
		}
	}
}
