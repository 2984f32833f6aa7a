package regrade_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/datasettest"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/grade/regrade"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/vocab"
)

// judge grades by the row, as the command does.
func judge(r logparse.Rules) regrade.Judge {
	return func(ctx context.Context, in dataset.Instance, _ []byte, l grade.Log) (grade.Judgement, error) {
		task, err := family.Find(in, family.Options{})
		if err != nil {
			return grade.Judgement{}, err
		}
		return task.Judge(ctx, l, r)
	}
}

// rows returns instances with t as their only test.
func rows(ids ...string) []dataset.Instance {
	var list []dataset.Instance
	for _, id := range ids {
		list = append(list, dataset.Instance{
			ID: id, Repo: "pallets/flask", LogParser: "parse_log_pytest", EvalScript: ": '>>>>> Start Test Output'\npytest\n: '>>>>> End Test Output'\n",
			EvalType: grade.PassAndFail, Image: "image", FailToPass: []string{"t"},
			Fields: map[string]any{"eval_script": "x", "log_parser": "parse_log_pytest"},
		})
	}
	return list
}

func between(text string) []byte {
	return []byte(grade.StartMarker("") + "\n" + text + "\n" + grade.EndMarker("") + "\n")
}

func TestEachKindOfFolder(t *testing.T) {
	tree, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	script := []byte(": '" + grade.StartMarker("n0n") + "'\npytest\n: '" + grade.EndMarker("n0n") + "'\n")
	for id, f := range map[string]swebench.Files{
		"a__passes-1":  {Output: between("PASSED t"), Patch: []byte("p")},
		"a__fails-1":   {Output: between("FAILED t")},
		"a__empty-1":   {Patch: []byte{}},
		"a__noapply-1": {RunLog: []byte(">>>>> Patch Apply Failed:\n")},
		"a__engine-1":  {RunLog: []byte("Error creating container")},
		"a__cut-1":     {Output: []byte(grade.StartMarker("") + "\nPASSED t\n")},
		"a__late-1":    {Output: []byte(grade.StartMarker("") + "\nPASSED t\n\n\nTimeout error: 60 seconds exceeded.")},
		"a__spoof-1":   {Script: script, Output: []byte(grade.StartMarker("n0n") + "\nPASSED t\n>>>>> End Test Output\nFAILED t\n" + grade.EndMarker("n0n") + "\n")},
		"a__sick-1":    {Output: between("PASSED t")},
		"a__ill-1":     {},
		"a__hollow-1":  {},
		"a__unasked-1": {Output: between("PASSED t")},
		"b__other-1":   {Output: between("PASSED t")},
	} {
		if err := f.Write(filepath.Join(tree, "run1", "org__m", id)); err != nil {
			t.Fatal(err)
		}
	}
	all := rows("a__passes-1", "a__fails-1", "a__empty-1", "a__noapply-1", "a__engine-1", "a__cut-1", "a__late-1", "a__spoof-1", "a__sick-1", "a__ill-1", "a__hollow-1", "a__absent-1", "a__unasked-1")
	c := regrade.Config{Tree: tree, Out: out, Dataset: all, Selected: all[:12], Judge: judge(logparse.V5), Quarantined: []string{"a__ill-1", "a__sick-1"}}
	reports, unknown, err := regrade.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(unknown, " ") != "b__other-1" || len(reports) != 1 {
		t.Fatalf("%q, %+v", unknown, reports)
	}
	var got strings.Builder
	if err := reports[0].Write(&got); err != nil {
		t.Fatal(err)
	}
	want := `org__m, run run1
  resolved                    1
  unresolved                  2
  patch does not apply        1
  empty patch                 1
  timed out                   1
  infrastructure              1
  ungradeable                 1
  in quarantine, not counted  2
resolved 1 of 6 (16.7%), coverage 6 of 10 (60.0%)
no log: a__hollow-1, a__absent-1
in quarantine: a__sick-1, a__ill-1
ungradeable: a__cut-1: the log has no end marker: the tests did not come to an
  end, or the log is cut
infrastructure: a__engine-1: the evaluation ended before the tests, see
  run_instance.log
unresolved: a__fails-1: 1 of 1 FAIL_TO_PASS test does not pass: t (FAILED)
unresolved: a__spoof-1: 1 of 1 FAIL_TO_PASS test does not pass: t (FAILED)
suspicious: a__spoof-1: the tests printed ">>>>> End Test Output", which the
  official harness takes as its own
report: ` + filepath.Join(out, "org__m.run1.json") + "\n"
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
	if reports[0].Complete() {
		t.Error("the report is complete")
	}
	for id, reported := range map[string]bool{"a__passes-1": true, "a__late-1": true, "a__sick-1": true, "a__empty-1": false, "a__noapply-1": false, "a__unasked-1": false} {
		_, err := os.Stat(filepath.Join(out, swebench.LogRoot, "run1", "org__m", id, swebench.ReportName))
		if reported != (err == nil) {
			t.Errorf("%s: %v", id, err)
		}
	}
	first, _ := os.ReadFile(reports[0].Path)
	if !strings.Contains(string(first), `"total_instances": 10,`) || !strings.Contains(string(first), `"quarantined_ids"`) {
		t.Errorf("%s", first)
	}
	if _, _, err := regrade.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if second, _ := os.ReadFile(reports[0].Path); string(second) != string(first) {
		t.Error("the same logs give another report")
	}
}

// An earlier report.json must not remain beside a final report that contradicts it.
func TestAReportThatDoesNotHoldAnyMoreIsRemoved(t *testing.T) {
	tree, out := t.TempDir(), t.TempDir()
	folder := filepath.Join(tree, "r1/m1/a__b-1")
	all := rows("a__b-1")
	c := regrade.Config{Tree: tree, Out: out, Dataset: all, Selected: all, Judge: judge(logparse.V5)}
	report := filepath.Join(out, swebench.LogRoot, "r1/m1/a__b-1", swebench.ReportName)
	for _, tt := range []struct {
		files swebench.Files
		want  vocab.Verdict
	}{
		{swebench.Files{Output: between("PASSED t"), Patch: []byte{}}, vocab.VerdictResolved}, // the tests ran without a patch
		{swebench.Files{RunLog: []byte(">>>>> Patch Apply Failed")}, vocab.VerdictNoApply},
	} {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := tt.files.Write(folder); err != nil {
			t.Fatal(err)
		}
		reports, _, err := regrade.Run(t.Context(), c)
		if err != nil || reports[0].Graded[0].Verdict != tt.want {
			t.Fatalf("%+v, %v; want %s", reports, err, tt.want)
		}
		if _, err := os.Stat(report); (err == nil) != (tt.want == vocab.VerdictResolved) {
			t.Errorf("%s: report.json: %v", tt.want, err)
		}
	}
}

func TestSeveralModelsHaveAReportEach(t *testing.T) {
	tree, out := t.TempDir(), t.TempDir()
	for _, dir := range []string{"r1/m1/a__b-1", "r1/m2/a__b-1", "r2/m1/a__b-1"} {
		if err := (swebench.Files{Output: between("PASSED t")}).Write(filepath.Join(tree, dir)); err != nil {
			t.Fatal(err)
		}
	}
	all := rows("a__b-1")
	c := regrade.Config{Tree: tree, Out: out, Dataset: all, Selected: all, Judge: judge(logparse.V5)}
	reports, _, err := regrade.Run(t.Context(), c)
	if err != nil || len(reports) != 3 {
		t.Fatalf("%+v, %v", reports, err)
	}
	for i, name := range []string{"m1.r1.json", "m2.r1.json", "m1.r2.json"} {
		if filepath.Base(reports[i].Path) != name || !reports[i].Complete() {
			t.Errorf("%+v", reports[i])
		}
	}
	c.RunID = "one"
	if _, _, err := regrade.Run(t.Context(), c); err == nil || fault.KindOf(err) != fault.Usage {
		t.Errorf("two runs in one: %v", err)
	}
}

func TestRunsWithOneReportNameAreRefused(t *testing.T) {
	tree, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	for _, dir := range []string{"r1/a.b/a__b-1", "b.r1/a/a__b-1"} {
		if err := (swebench.Files{Output: between("PASSED t")}).Write(filepath.Join(tree, dir)); err != nil {
			t.Fatal(err)
		}
	}
	all := rows("a__b-1")
	_, _, err := regrade.Run(t.Context(), regrade.Config{Tree: tree, Out: out, Dataset: all, Selected: all, Judge: judge(logparse.V5)})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "a.b.r1.json") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("reports were written")
	}
}

func TestATreeOfAnotherDatasetIsRefused(t *testing.T) {
	tree := t.TempDir()
	all := rows("a__b-1")
	c := regrade.Config{Tree: tree, Out: t.TempDir(), Dataset: all, Selected: all, Judge: judge(logparse.V5)}
	_, _, err := regrade.Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "no log of an instance") {
		t.Error(err)
	}
	if err := (swebench.Files{Output: []byte("x")}).Write(filepath.Join(tree, "a__b-2")); err != nil {
		t.Fatal(err)
	}
	_, _, err = regrade.Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "a__b-2") || !strings.Contains(fault.HintOf(err), "a__b-1") {
		t.Error(err, fault.HintOf(err))
	}
}

func TestACanceledRunLeavesWholeFiles(t *testing.T) {
	tree, out := t.TempDir(), t.TempDir()
	if err := (swebench.Files{Output: between("PASSED t")}).Write(filepath.Join(tree, "a__b-1")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	all := rows("a__b-1")
	_, _, err := regrade.Run(ctx, regrade.Config{Tree: tree, Out: out, Dataset: all, Selected: all, Judge: judge(logparse.V5)})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Error(left)
	}
}

// shared returns the path of a file of the recorded material, or skips the test.
func shared(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "data", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("../shared/data/%s is not here", name)
	}
	return path
}

// unpack writes the 98 real logs into a folder, which it returns.
func unpack(t testing.TB) string {
	t.Helper()
	file, err := os.Open(shared(t, "logs/verified-98.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	archive := tar.NewReader(unzipped)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "verified-98")
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(archive); err == nil {
				err = os.WriteFile(path, data, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestRealLogsGiveTheOfficialReports(t *testing.T) {
	tree, all, out := unpack(t), datasettest.Rows(t, "Verified-test"), t.TempDir()
	reports, _, err := regrade.Run(t.Context(), regrade.Config{
		Tree: tree, Out: out, Dataset: all, Selected: all, Rules: logparse.V4, Judge: judge(logparse.V4),
	})
	if err != nil || len(reports) != 1 {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(tree, "logs", "run_evaluation", "*", "*", "*", swebench.ReportName))
	if err != nil || len(found) != 98 {
		t.Fatal(len(found), err)
	}
	for _, path := range found {
		rel, _ := filepath.Rel(tree, path)
		want, _ := os.ReadFile(path)
		if got, _ := os.ReadFile(filepath.Join(out, rel)); string(got) != string(want) {
			t.Errorf("%s differs", rel)
		}
	}
}
