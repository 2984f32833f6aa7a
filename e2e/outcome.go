package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

// Predictions returns the patches in the preds.json of a run directory.
func Predictions(t testing.TB, dir string) map[string]string {
	t.Helper()
	var rows map[string]struct {
		Patch string `json:"model_patch"`
	}
	ReadJSON(t, filepath.Join(dir, "preds.json"), &rows)
	patches := map[string]string{}
	for id, row := range rows {
		patches[id] = row.Patch
	}
	return patches
}

// ReadJSON reads a file into v.
func ReadJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Record returns the record of the only instance's last attempt.
func Record(t *testing.T, dir string) results.Record {
	t.Helper()
	snap, err := results.Read(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results.Latest(snap.Records) {
		return r
	}
	t.Fatal("there is no record")
	return results.Record{}
}

// Status runs `batch status out --json` in dir.
func Status(t *testing.T, dir string) report.Status {
	t.Helper()
	out, err := Batch(t, dir, "status", "out", "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var s report.Status
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

// Statuses counts the instances by status.
func Statuses(s report.Status) map[vocab.Status]int {
	count := map[vocab.Status]int{}
	for _, in := range s.Instances {
		count[in.Status]++
	}
	return count
}

// Verdicts returns the verdict that counts of each instance in a run directory.
func Verdicts(t *testing.T, dir string) map[string]vocab.Verdict {
	t.Helper()
	list, err := grades.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]vocab.Verdict{}
	for p, g := range grades.Latest(list) {
		verdicts[p.InstanceID] = g.Verdict
	}
	return verdicts
}

// GradedOnce fails the test if an instance has not exactly one record.
func GradedOnce(t *testing.T, dir string, want int) {
	t.Helper()
	list, err := grades.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, g := range list {
		if g.Verdict.Counts() {
			times[g.InstanceID]++
		}
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s was graded %d times", id, n)
		}
	}
	if len(times) != want {
		t.Errorf("%d instances were graded, want %d", len(times), want)
	}
}

// AwaitGrades waits until a run directory has n grades.
func AwaitGrades(t testing.TB, dir string, n int) {
	t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if list, err := grades.Read(dir); err == nil && len(list) >= n {
			return
		}
	}
	t.Fatalf("%s does not have %d grades after %v", dir, n, Patience)
}

// OnlyJournal are the records of the only instance.
func OnlyJournal(t *testing.T, dir string) []journal.Record {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, "out", "*", "journal.jsonl"))
	if len(paths) != 1 {
		t.Fatalf("%d journals, want 1", len(paths))
	}
	records, _, err := journal.Read(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return records
}
