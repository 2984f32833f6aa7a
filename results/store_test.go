package results_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func open(t testing.TB, dir string) *results.Store {
	t.Helper()
	s, err := results.Open(dir, results.Options{Owner: "host h, pid 1", FlushEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func closeStore(t testing.TB, s *results.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// result returns a submitted result with the given patch.
func result(id, patch string) *results.Result {
	return &results.Result{
		Record: results.Record{
			InstanceID: id, Status: "Submitted", Outcome: vocab.OutcomeSubmitted, Model: "m/é", Steps: 3, Cost: 0.25,
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Time: results.Phases{Model: 1.5, Total: 2.5},
		},
		Submission: []byte(patch),
		Prediction: patch,
	}
}

func failed(id string) *results.Result {
	return &results.Result{Record: results.Record{
		InstanceID: id, Status: "TransientFault", Outcome: vocab.OutcomeInfrastructure, Blame: "transient",
		Model: "m", Error: "pulling image x: EOF", Cost: 0.5,
	}}
}

func put(t testing.TB, s *results.Store, r *results.Result) int {
	t.Helper()
	a, err := s.Begin(r.Record.InstanceID, manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return end(t, s, a, r)
}

// putErr returns the error of Put.
func putErr(t testing.TB, s *results.Store, r *results.Result) error {
	t.Helper()
	_, err := s.Put(t.Context(), r)
	return err
}

// end puts the result of an open attempt.
func end(t testing.TB, s *results.Store, a *results.Attempt, r *results.Result) int {
	t.Helper()
	if _, err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return a.Number()
}

func read(t testing.TB, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t testing.TB, text string, parts ...string) {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

type entry struct {
	Model string `json:"model_name_or_path"`
	ID    string `json:"instance_id"`
	Patch string `json:"model_patch"`
}

func preds(t testing.TB, dir string) map[string]entry {
	t.Helper()
	var m map[string]entry
	if err := json.Unmarshal([]byte(read(t, dir, "preds.json")), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

const hostile = "--- a\r\n+++ b\r\n@@ é 漢 😀 \u2028 \x00\x01\x1f\x7f <&> \"\\/ \t\b\f\n"

func TestARunDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "out")
	s := open(t, dir)
	a, err := s.Begin("z__first-1", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	tell(t, a, journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{
		json.RawMessage(`{"role":"user","content":"<é & 😀>"}`),
	}})
	end(t, s, a, result("z__first-1", hostile))
	put(t, s, result("a__second-2", ""))
	put(t, s, failed("m__third-3"))
	closeStore(t, s)

	t.Run("the patch is exact", func(t *testing.T) {
		if got := read(t, dir, "z__first-1", "z__first-1.patch"); got != hostile {
			t.Errorf("got %q, want %v", got, hostile)
		}
	})
	t.Run("predictions are in order of completion, in the exact form of mini-swe-agent", func(t *testing.T) {
		want := `{
  "z__first-1": {
    "model_name_or_path": "m/\u00e9",
    "instance_id": "z__first-1",
    "model_patch": "--- a\r\n+++ b\r\n@@ \u00e9 \u6f22 \ud83d\ude00 \u2028 \u0000\u0001\u001f\u007f <&> \"\\/ \t\b\f\n"
  },
  "a__second-2": {
    "model_name_or_path": "m/\u00e9",
    "instance_id": "a__second-2",
    "model_patch": ""
  }
}`
		if diff := cmp.Diff(want, read(t, dir, "preds.json")); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
	t.Run("exit statuses cover all", func(t *testing.T) {
		want := "instances_by_exit_status:\n    Submitted:\n    - a__second-2\n    - z__first-1\n    TransientFault:\n    - m__third-3\n"
		if diff := cmp.Diff(want, read(t, dir, "exit_statuses.yaml")); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
	t.Run("a failure has a trajectory that says why", func(t *testing.T) {
		var traj results.Trajectory
		if err := json.Unmarshal([]byte(read(t, dir, "m__third-3", "m__third-3.traj.json")), &traj); err != nil {
			t.Fatal(err)
		}
		if traj.Info.ExitStatus != "TransientFault" || traj.Info.Exception == "" ||
			traj.Format != "mini-swe-agent-1.1" || traj.InstanceID != "m__third-3" {
			t.Errorf("got %+v, want exit status %q, some exception, format %q, instance ID %q",
				traj, "TransientFault", "mini-swe-agent-1.1", "m__third-3")
		}
	})
	t.Run("the trajectory has the exact form of mini-swe-agent", func(t *testing.T) {
		got := read(t, dir, "z__first-1", "z__first-1.traj.json")
		wantIn := "  \"messages\": [\n    {\n      \"role\": \"user\",\n      \"content\": \"<\\u00e9 & \\ud83d\\ude00>\"\n    }\n  ],\n" +
			"  \"trajectory_format\": \"mini-swe-agent-1.1\",\n  \"instance_id\": \"z__first-1\"\n}"
		if !strings.HasSuffix(got, wantIn) || !strings.HasPrefix(got, "{\n  \"info\": {\n    \"model_stats\": {\n") {
			t.Errorf("got %s, want ending in %q, beginning with %q", got, wantIn, "{\n  \"info\": {\n    \"model_stats\": {\n")
		}
	})
	t.Run("parquet holds every attempt", func(t *testing.T) {
		rows, err := parquet.ReadFile[results.Row](filepath.Join(dir, "results.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(results.RowsOf(s.Records()), rows); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		if len(rows) != 3 || *rows[2].SecondsTotal != 2.5 || rows[2].PatchBytes != len(hostile) || !rows[2].Last || !rows[2].HasResult {
			t.Errorf("rows %+v", rows)
		}
	})
	t.Run("the next run resumes", func(t *testing.T) {
		s := open(t, dir)
		for id, want := range map[string]bool{"z__first-1": true, "a__second-2": true, "m__third-3": false, "new": false} {
			if _, ok := s.Finished(id); ok != want {
				t.Errorf("Finished(%s) = %v; want ok %v", id, ok, want)
			}
		}
		if got := s.Spent(); got != 1 {
			t.Errorf("Spent = %v, want 1", got)
		}
		if r := s.Recovered(); len(r) > 0 {
			t.Errorf("recovered %q from a clean directory", r)
		}
		before := read(t, dir, "preds.json")
		if n := put(t, s, result("m__third-3", "p")); n != 2 {
			t.Errorf("attempt %d, want 2", n)
		}
		closeStore(t, s)
		if after := read(t, dir, "preds.json"); !strings.HasPrefix(after, strings.TrimSuffix(before, "\n}")) {
			t.Errorf("order or bytes changed:\n%s", after)
		}
		if got := s.Spent(); got != 1.25 {
			t.Errorf("Spent = %v, want 1.25", got)
		}
	})
}

func TestResetForgetsAndKeepsTheHistory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "one"))
	put(t, s, result("b", "two"))
	if err := s.Reset([]string{"a", "unknown"}, false); err != nil {
		t.Fatal(err)
	}
	if _, ok := preds(t, dir)["a"]; ok {
		t.Error("the prediction is still in preds.json when Reset returns")
	}
	closeStore(t, s)
	s = open(t, dir)
	if _, ok := s.Finished("a"); ok {
		t.Error("a is still finished")
	}
	if _, ok := s.Finished("b"); !ok {
		t.Error("b was reset too")
	}
	if len(s.Records()) != 2 || s.Spent() != 0.5 {
		t.Errorf("records %v, spent %v; want 2 records, spent 0.5", s.Records(), s.Spent())
	}
	if n := put(t, s, result("a", "three")); n != 2 {
		t.Errorf("attempt %d, want 2", n)
	}
	closeStore(t, s)
	if got := preds(t, dir)["a"].Patch; got != "three" {
		t.Errorf("patch %q, want %q", got, "three")
	}
	if s := open(t, dir); len(s.Records()) != 3 || math.Abs(s.Spent()-0.75) > 1e-9 {
		t.Errorf("records %v, spent %v; want 3 records, spent 0.75", s.Records(), s.Spent())
	}
}

func TestBadResultsAreRefused(t *testing.T) {
	s := open(t, t.TempDir())
	cases := map[string]struct {
		change func(*results.Result)
		want   fault.Kind
	}{
		"a prediction that is not UTF-8": {func(r *results.Result) { r.Prediction = "\xff" }, fault.Bug},
		"a lone surrogate":               {func(r *results.Result) { r.Prediction = "\xed\xa0\x80" }, fault.Bug},
		"a model that is not UTF-8":      {func(r *results.Result) { r.Record.Model = "\xff" }, fault.Bug},
		"an id that leaves the folder":   {func(r *results.Result) { r.Record.InstanceID = "../x" }, fault.Instance},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := result("a", "x")
			c.change(r)
			if _, err := s.Put(t.Context(), r); fault.KindOf(err) != c.want {
				t.Errorf("%v: kind %v, want %v", err, fault.KindOf(err), c.want)
			}
		})
	}
	if len(s.Records()) > 0 {
		t.Error("a refused result left a record")
	}
}

func TestTwoRunsInOneDirectory(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	_, err := results.Open(dir, results.Options{})
	locked, ok := errors.AsType[*results.LockedError](err)
	if !ok || locked.Owner != "host h, pid 1" || err.Error() != dir+" is in use by process 1 on h" {
		t.Fatalf("second Open: %v", err)
	}
	closeStore(t, first)
	closeStore(t, open(t, dir))
}

func TestTheOwnerInWords(t *testing.T) {
	for owner, want := range map[string]string{
		"": "another run",
		"host h, pid 7, since 2026-01-02T03:04:05Z":      "process 7 on h, since 2026-01-02 03:04:05 +00:00",
		"host h, pid 7, since 2026-01-02T03:04:05+02:00": "process 7 on h, since 2026-01-02 03:04:05 +02:00",
		"host h, pid 7, since now":                       "process 7 on h",
		"host h, pid 7":                                  "process 7 on h",
		"host h, pid 0":                                  "host h, pid 0",
		"somebody, pid":                                  "somebody, pid",
		"7":                                              "7",
	} {
		if got := results.OwnerInWords(owner); got != want {
			t.Errorf("%q: %q, want %q", owner, got, want)
		}
	}
	if got := results.OwnerInWords(results.DefaultOwner()); !strings.HasPrefix(got, fmt.Sprintf("process %d on ", os.Getpid())) || !strings.Contains(got, ", since 2") {
		t.Errorf("the owner of this process is %q", got)
	}
}

func TestOpenRefusesBadPlaces(t *testing.T) {
	dir := t.TempDir()
	write(t, "x", dir, "file")
	for _, path := range []string{"file", "file/below"} {
		_, err := results.Open(filepath.Join(dir, path), results.Options{})
		if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: got %v (%v); want a Usage fault, a hint", path, err, fault.KindOf(err))
		}
	}
	if _, err := results.Open("/proc/batch-cannot-be-here", results.Options{}); fault.KindOf(err) != fault.Host {
		t.Errorf("an unwritable place: %v, want a Host fault", err)
	}
}

func TestManyPutsAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			id := fmt.Sprintf("i-%d", i)
			for n := range 3 {
				r := result(id, fmt.Sprintf("patch %d of %d", n, i))
				if n < 2 {
					r = failed(id)
				}
				if _, err := s.Put(t.Context(), r); err != nil {
					t.Error(err)
				}
				s.Finished(id)
			}
			s.Records()
			s.Spent()
		})
	}
	wg.Wait()
	closeStore(t, s)
	closeStore(t, s)
	if got := preds(t, dir); len(got) != 64 || got["i-7"].Patch != "patch 2 of 7" {
		t.Errorf("got %d predictions, %+v; want 64 values, patch %q", len(got), got["i-7"], "patch 2 of 7")
	}
	if got := len(s.Records()); got != 3*64 {
		t.Errorf("got %d records, want %v", got, 3*64)
	}
}

func TestAnIDThatCannotNameAFolderIsRefusedWithTheReason(t *testing.T) {
	s := open(t, t.TempDir())
	for id, why := range map[string]string{
		"":                       "is empty",
		strings.Repeat("x", 201): "is longer than 200 bytes",
		".hidden":                "begins with a dot",
		"a/b":                    "contains a slash",
		"a\\b":                   "a backslash",
		"a\nb":                   "a newline",
		"Preds.JSON":             "own files",
		"preds.json.corrupt-7":   "own files",
		"manifest.json":          "own files",
		"batch.log":              "own files",
		"exit_statuses.yaml":     "own files",
		"results.parquet":        "own files",
	} {
		_, err := s.Begin(id, manifest.Settings{})
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), why) {
			t.Errorf("%.20q: %v (%v), want %q", id, err, fault.KindOf(err), why)
		}
	}
	if _, err := s.Begin(strings.Repeat("x", 200), manifest.Settings{}); err != nil {
		t.Error(err)
	}
}

// A closed directory belongs to the next run: nothing may be written there.
func TestAClosedStoreWritesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "first"))
	closeStore(t, s)
	next := open(t, dir)
	put(t, next, result("b", "second"))
	if err := next.WritePredictions(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := read(t, dir, "preds.json")
	for what, err := range map[string]error{
		"predictions": s.WritePredictions(t.Context()),
		"a manifest":  s.WriteManifest(&manifest.Manifest{Batch: "late"}),
		"a reset":     s.Reset([]string{"a"}, false),
		"a result":    putErr(t, s, result("c", "late")),
	} {
		if fault.KindOf(err) != fault.Bug {
			t.Errorf("got %s after Close: %v; want a Bug fault", what, err)
		}
	}
	if after := read(t, dir, "preds.json"); after != before {
		t.Errorf("preds.json changed from %s to %s", before, after)
	}
	if _, ok := next.Manifest(); ok {
		t.Error("a manifest was written after Close")
	}
}

func TestConcurrentWriteAndClose(t *testing.T) {
	for range 10 {
		dir := t.TempDir()
		s := open(t, dir)
		put(t, s, result("a", "p"))
		var all sync.WaitGroup
		all.Go(func() {
			if err := s.WritePredictions(t.Context()); err != nil && fault.KindOf(err) != fault.Bug {
				t.Errorf("the put was neither saved nor refused as closed: %v", err)
			}
		})
		all.Go(func() { closeStore(t, s) })
		all.Wait()
		if got := preds(t, dir)["a"].Patch; got != "p" {
			t.Errorf("the prediction is %q, want %q", got, "p")
		}
	}
}
