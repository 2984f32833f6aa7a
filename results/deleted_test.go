package results_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/results"
)

// The package's documentation describes the effects of deleting and moving files.
func TestDeletedFiles(t *testing.T) {
	for _, c := range []struct {
		what     string
		do       func(dir string) error
		finished bool   // instance a, after the deletion
		told     string // text of the report
		attempt  int    // of the last record then
	}{
		{"its folder", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "a")) }, true, "", 0},
		{"its folder is moved away", func(dir string) error { return os.Rename(filepath.Join(dir, "a"), dir+"-a") }, true, "", 0},
		{"preds.json", func(dir string) error { return os.Remove(filepath.Join(dir, "preds.json")) }, true, "put back 2 missing predictions", 1},
		{"its entry in preds.json", dropEntry, true, "put back 1 missing prediction from", 1},
		{"its folder and its entry", func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "a")), dropEntry(dir))
		}, false, "", 0},
		{"its journal", func(dir string) error { return os.Remove(filepath.Join(dir, "a", "journal.jsonl")) }, true, "", 0},
		{"its trajectory", func(dir string) error { return os.Remove(filepath.Join(dir, "a", "a.traj.json")) }, true, "", 1},
		{"results.parquet", func(dir string) error { return os.Remove(filepath.Join(dir, "results.parquet")) }, true, "", 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			for _, id := range []string{"a", "b"} {
				a := begin(t, s, id)
				tell(t, a, journal.TypeContainer, container)
				end(t, s, a, result(id, "patch"))
			}
			closeStore(t, s)
			if err := c.do(dir); err != nil {
				t.Fatal(err)
			}
			snap, err := results.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			shown := slices.ContainsFunc(snap.Records, func(r results.Record) bool { return r.InstanceID == "a" && r.Outcome.Final() })
			s = open(t, dir)
			r, finished := s.Finished("a")
			if finished != c.finished || shown != c.finished || r.Attempt != c.attempt {
				t.Errorf("finished: %v, in the records: %v, attempt %d; want the case's values", finished, shown, r.Attempt)
			}
			if told := strings.Join(s.Recovered(), "\n"); !strings.Contains(told, c.told) || c.told == "" && told != "" {
				t.Errorf("recovered %q, want %q", told, c.told)
			}
			if _, ok := s.Finished("b"); !ok {
				t.Error("the other instance is not finished any more")
			}
			closeStore(t, s)
			if in := strings.Contains(read(t, dir, "preds.json"), `"a": {`); in != c.finished {
				t.Errorf("a is in preds.json: %v", in)
			}
			s = open(t, dir)
			if _, ok := s.Finished("a"); ok != c.finished {
				t.Errorf("a is finished when opened again: %v", ok)
			}
			if !c.finished {
				if a := begin(t, s, "a"); a.Number() != 1 {
					t.Errorf("the next attempt of a is number %d", a.Number())
				}
			}
		})
	}
}

// dropEntry removes the entry of a from preds.json.
func dropEntry(dir string) error {
	path := filepath.Join(dir, "preds.json")
	text, err := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(text), `  "b": `)
	return errors.Join(err, os.WriteFile(path, []byte("{\n  \"b\": "+rest), 0o600))
}
