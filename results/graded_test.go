package results_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

func graded(id string, attempt int, patch string, v vocab.Verdict) grades.Grade {
	return grades.Grade{
		InstanceID: id, Attempt: attempt, Patch: grades.PatchDigest(patch), Verdict: v,
		FailToPass: grades.Tests{Passed: []string{"f1"}, Failed: []string{"f2", "f3"}}, PassToPass: grades.Tests{Passed: []string{"p1"}},
		Suspicious: []string{"conftest.py"}, Time: grades.Seconds{Total: 2.5}, Engine: "context:lab",
	}
}

func addGrades(t *testing.T, s *results.Store, list ...grades.Grade) {
	t.Helper()
	log, err := s.Grades()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range list {
		if err := log.Add(g); err != nil {
			t.Fatal(err)
		}
	}
}

// verdicts returns the grade of each record: "a 1 resolved true".
func verdicts(records []results.Record) []string {
	var out []string
	for _, r := range records {
		text := fmt.Sprintf("%s %d", r.InstanceID, r.Attempt)
		if r.Grade != nil {
			text += " " + r.Grade.Verdict.String()
		}
		if r.Resolved != nil {
			text += fmt.Sprint(" ", *r.Resolved)
		}
		if r.Quarantined {
			text += " quarantined"
		}
		out = append(out, text)
	}
	return out
}

func TestGradesAreJoinedToTheirPredictions(t *testing.T) {
	dir := t.TempDir()
	other := `{"other": {"model_name_or_path": "m", "instance_id": "other", "model_patch": "foreign"}, "null": {"model_patch": null}}`
	if err := os.WriteFile(filepath.Join(dir, "preds.json"), []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	for _, id := range []string{"a", "again", "changed", "infra", "out", "none"} {
		put(t, s, result(id, "patch of "+id))
	}
	if err := s.Reset([]string{"again"}, false); err != nil {
		t.Fatal(err)
	}
	put(t, s, result("again", "second patch"))
	addGrades(t, s,
		graded("a", 1, "patch of a", vocab.VerdictResolved),
		graded("a", 1, "patch of a", vocab.VerdictInfrastructure),
		graded("again", 1, "patch of again", vocab.VerdictUnresolved),
		graded("again", 2, "second patch", vocab.VerdictResolved),
		graded("changed", 1, "an older patch", vocab.VerdictResolved),
		graded("infra", 1, "patch of infra", vocab.VerdictInfrastructure),
		graded("out", 1, "patch of out", vocab.VerdictResolved),
		graded("other", 0, "foreign", vocab.VerdictTimedOut),
		graded("null", 0, "", vocab.VerdictEmpty),
		graded("gone", 3, "x", vocab.VerdictResolved),
	)
	if err := s.Quarantine([]byte("# broken here\nout # gold is not resolved\nnever\n")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a 1 resolved true", "again 1 unresolved false", "again 2 resolved true", "changed 1", "infra 1 infrastructure", "none 1",
		"null 0", "other 0 timed out false", "out 1 resolved quarantined",
	}
	if d := cmp.Diff(want, verdicts(s.Records())); d != "" {
		t.Errorf("Records (-want +got):\n%s", d)
	}
	closeStore(t, s)
	snap, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, verdicts(snap.Records)); d != "" || len(snap.Notes) != 1 || !strings.HasPrefix(snap.Notes[0], "mixed: ") { // of m and m/é
		t.Errorf("Read: notes %q (-want +got):\n%s", snap.Notes, d)
	}
	rows := parquetRows(t, dir)
	var got []string
	for _, r := range rows {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %d %s", r.InstanceID, r.Attempt, vocab.Verdict(r.Verdict))))
	}
	for i := range want {
		want[i] = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(want[i], " quarantined"), " true"), " false")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("results.parquet (-want +got):\n%s", d)
	}
	a, none, out := rows[0], rows[5], rows[8]
	if !*a.Resolved || !slices.Equal(a.F2PPassed, []string{"f1"}) || !slices.Equal(a.F2PFailed, []string{"f2", "f3"}) ||
		!slices.Equal(a.P2PPassed, []string{"p1"}) || a.P2PFailed == nil || len(a.P2PFailed) > 0 ||
		!slices.Equal(a.Suspicious, []string{"conftest.py"}) || *a.GradeSeconds != 2.5 || a.GradeEngine != "context:lab" || *a.Unstable || a.Quarantined {
		t.Errorf("a graded row: %+v", a)
	}
	if none.Resolved != nil || none.F2PPassed != nil || none.P2PFailed != nil || none.Suspicious != nil || none.GradeSeconds != nil || none.Unstable != nil {
		t.Errorf("a row that is not graded: %+v, want null", none)
	}
	if out.Resolved != nil || !out.Quarantined {
		t.Errorf("a quarantined row: %+v", out)
	}
}

func parquetRows(t *testing.T, dir string) []results.Row {
	t.Helper()
	rows, err := parquet.ReadFile[results.Row](filepath.Join(dir, "results.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Grading alone changes neither the predictions nor the files derived from them.
func TestGradingAnotherToolsFolderWritesOnlyItsOwnFiles(t *testing.T) {
	dir := t.TempDir()
	other := `{"a":{"model_patch":"p","extra":1}}`
	if err := os.WriteFile(filepath.Join(dir, "preds.json"), []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	addGrades(t, s, graded("a", 0, "p", vocab.VerdictResolved))
	closeStore(t, s)
	if text := read(t, dir, "preds.json"); text != other {
		t.Errorf("preds.json became %s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, "exit_statuses.yaml")); err == nil {
		t.Error("exit_statuses.yaml was written")
	}
	if rows := parquetRows(t, dir); len(rows) != 1 || rows[0].Resolved == nil || !*rows[0].Resolved {
		t.Errorf("rows %+v, want one that is resolved", rows)
	}
}

func TestBrokenGradesAreReportedAndTheOtherResultsAreRead(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, id := range []string{"a", "b"} {
		put(t, s, result(id, "p"))
		addGrades(t, s, graded(id, 1, "p", vocab.VerdictResolved))
	}
	addGrades(t, s, graded("b", 1, "p", vocab.VerdictUnresolved))
	closeStore(t, s)
	broken := strings.Replace(read(t, dir, grades.File), `"instance_id":"b"`, `"instance_id":"x"`, 1)
	for name, text := range map[string]string{grades.File: broken, grades.QuarantineFile: "a b\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(snap.Notes, "\n")
	for _, want := range []string{"1 grade is counted", "line 2 is damaged", "no instance counts as quarantined", "quarantine.txt line 1"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
	if d := cmp.Diff([]string{"a 1 resolved true", "b 1"}, verdicts(snap.Records)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	s = open(t, dir)
	if _, err := s.Grades(); err == nil || !strings.Contains(err.Error(), "line 2 is damaged") {
		t.Errorf("Grades: %v, want the damaged line", err)
	}
	put(t, s, result("c", "p"))
	closeStore(t, s)
	if rows := parquetRows(t, dir); len(rows) != 3 {
		t.Errorf("%d rows, want 3", len(rows))
	}
	if read(t, dir, grades.File) != broken {
		t.Error("the damaged file was changed")
	}
}

func TestQuarantineRefusesABrokenList(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Quarantine([]byte("a\nb c\n")); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v, want a Usage fault with the line", err)
	}
	closeStore(t, s)
	if err := s.Quarantine(nil); fault.KindOf(err) != fault.Bug {
		t.Errorf("after Close: %v, want a Bug fault", err)
	}
	if _, err := s.Grades(); fault.KindOf(err) != fault.Bug {
		t.Errorf("after Close: %v, want a Bug fault", err)
	}
}

func TestARecordIsResolvedOnlyByAGrade(t *testing.T) {
	s := open(t, t.TempDir())
	r, yes := result("a", "p"), true
	r.Record.Resolved = &yes
	put(t, s, r)
	if r := s.Records()[0]; r.Resolved != nil {
		t.Error("a record is resolved without a grade")
	}
	closeStore(t, s)
}
