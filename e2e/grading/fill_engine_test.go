package grading

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results/grades"
)

// writeVariants writes the row of a demo instance under other ids, each with a change.
func writeVariants(t *testing.T, path, demo string, variants map[string]func(row map[string]any)) dataset.Instance {
	t.Helper()
	all := e2e.DemoInstances(t)
	in := all[slices.IndexFunc(all, func(in dataset.Instance) bool { return in.ID == demo })]
	var rows strings.Builder
	for _, id := range slices.Sorted(maps.Keys(variants)) {
		row := maps.Clone(in.Fields)
		row["instance_id"], row["FAIL_TO_PASS"], row["PASS_TO_PASS"] = id, []string{}, []string{}
		variants[id](row)
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		rows.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return in
}

func openRows(t *testing.T, path string) map[string]dataset.Instance {
	t.Helper()
	ds, err := dataset.Open(t.Context(), dataset.Source{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]dataset.Instance{}
	for _, in := range ds.Instances {
		rows[in.ID] = in
	}
	return rows
}

func TestFillFindsTheTestsThatDecide(t *testing.T) {
	tier.Rest(t, "grade/fill", "dataset/starter", "cmd/batch/dataset*.go", "cmd/batch/datasetfill*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	tests := func(script string) func(map[string]any) {
		return func(row map[string]any) {
			row["eval_script"] = ": '>>>>> Start Test Output'\n" + script + "\n: '>>>>> End Test Output'\n"
		}
	}
	const begin = ": '>>>>> Start Test Output'\n"
	demo := writeVariants(t, filepath.Join(dir, "rows.jsonl"), "demo__csvsum-5", map[string]func(map[string]any){
		"a-good":    func(map[string]any) {},
		"b-unasked": func(map[string]any) {},
		"c-flaky": func(row map[string]any) { // a test whose name is another one each time passes only sometimes
			row["eval_script"] = strings.Replace(row["eval_script"].(string), begin, begin+"echo \"[ok]: at $RANDOM$RANDOM$RANDOM\"\n", 1)
		},
		"d-runner":  tests("no-such-runner -rA"),
		"e-patch":   func(row map[string]any) { row["patch"] = "" },
		"f-applies": func(row map[string]any) { row["patch"] = "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n" },
		"g-nothing": tests("echo '[ok]: kept'"),
	})
	before, err := os.ReadFile(filepath.Join(dir, "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"dataset", "fill", "rows.jsonl", "a-good", "c-flaky", "d-runner", "e-patch", "f-applies", "g-nothing", "--repeat", "2", "-o", "out", "-q"}
	code, said := e2e.ExitCode(t, e2e.Batch(t, dir, args...))
	if code != e2e.ExitIncomplete {
		t.Errorf("exit code %d\n%s", code, said)
	}
	for _, want := range []string{
		"filled 2 of 6 rows: ", "flaky in c-flaky: at ",
		"d-runner: before its gold patch: ungradeable: the image cannot run the tests, whatever the patch: line ",
		"e-patch: it has no gold patch", "f-applies: after its gold patch: ",
		"g-nothing: no test fails before its gold patch and passes after it",
		"now check them: `batch grade --check --subset ", "/out/rows.jsonl`", "/repeat-2/test_output.txt",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q in\n%s", want, said)
		}
	}
	rows := openRows(t, filepath.Join(dir, "out", "rows.jsonl"))
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	for id, in := range rows {
		if !slices.Equal(in.FailToPass, sorted(demo.FailToPass)) || !slices.Equal(in.PassToPass, sorted(demo.PassToPass)) {
			t.Errorf("%s: %v, %v; want %v, %v", id, in.FailToPass, in.PassToPass, demo.FailToPass, demo.PassToPass)
		}
		if in.Patch != openRows(t, filepath.Join(dir, "rows.jsonl"))[id].Patch {
			t.Errorf("%s: another patch", id)
		}
	}
	if ids := slices.Sorted(maps.Keys(rows)); !slices.Equal(ids, []string{"a-good", "c-flaky"}) {
		t.Errorf("rows.jsonl has %q", ids)
	}
	for _, side := range []string{"before", "after"} {
		if log, err := os.ReadFile(filepath.Join(dir, "out", side, "batch.log")); err != nil || strings.Contains(string(log), "unresolved") || !strings.Contains(string(log), "status=tested") {
			t.Errorf("%s: %v\n%s", side, err, log)
		}
	}
	left, err := os.ReadFile(filepath.Join(dir, "out", "flaky.txt"))
	if err != nil || strings.Count(string(left), "c-flaky\tat ") != 4 || strings.Count(string(left), "\n") != 4 {
		t.Errorf("%v\n%s", err, left)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "rows.jsonl")); err != nil || string(after) != string(before) {
		t.Errorf("the rows have changed: %v", err)
	}

	// What an earlier fill found stays, and what somebody else has written is not replaced.
	code, said = e2e.ExitCode(t, e2e.Batch(t, dir, "dataset", "fill", "rows.jsonl", "b-unasked", "--repeat", "1", "-o", "out", "-q"))
	rows = openRows(t, filepath.Join(dir, "out", "rows.jsonl"))
	if code != 0 || len(rows["a-good"].FailToPass) != 4 || len(rows["b-unasked"].FailToPass) != 4 {
		t.Errorf("exit code %d\n%s", code, said)
	}
	e2e.WriteFiles(t, dir, map[string]string{"mine/rows.jsonl": "precious"})
	for _, out := range []string{"mine", ".", "out/before"} {
		code, said = e2e.ExitCode(t, e2e.Batch(t, dir, "dataset", "fill", "rows.jsonl", "a-good", "-o", out, "-q"))
		if code != e2e.ExitUsage || !strings.Contains(said, "is not empty, and no directory that fill has made") {
			t.Errorf("-o %s: exit code %d\n%s", out, code, said)
		}
	}
	code, said = e2e.ExitCode(t, e2e.Batch(t, dir, "dataset", "fill", "out/rows.jsonl", "a-good", "-o", "out", "-q"))
	if code != e2e.ExitUsage || !strings.Contains(said, "would be replaced by its own filled rows") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	filled, err := os.ReadFile(filepath.Join(dir, "out", "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(filled), `"problem_statement":"`, `"problem_statement":"By hand. `, 1)
	e2e.WriteFiles(t, dir, map[string]string{"out/rows.jsonl": edited})
	code, said = e2e.ExitCode(t, e2e.Batch(t, dir, "dataset", "fill", "rows.jsonl", "a-good", "-o", "out", "-q"))
	if code != e2e.ExitUsage || !strings.Contains(said, "was changed since fill wrote it, and would be replaced") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	e2e.WriteFiles(t, dir, map[string]string{"out/rows.jsonl": string(filled), "rows.jsonl": strings.Replace(string(before), "no-such-runner -rA", "echo '[ok]: kept'", 1)})
	code, said = e2e.ExitCode(t, e2e.Batch(t, dir, "dataset", "fill", "rows.jsonl", "d-runner", "--repeat", "1", "-o", "out", "-q"))
	if left, err := os.ReadFile(filepath.Join(dir, "out", "flaky.txt")); code != e2e.ExitIncomplete || err != nil || !strings.Contains(said, "d-runner: no test fails before") ||
		strings.Count(string(left), "c-flaky\t") != 4 || len(openRows(t, filepath.Join(dir, "out", "rows.jsonl"))["c-flaky"].FailToPass) != 4 {
		t.Errorf("a row that was corrected: exit code %d, %v, left %s\n%s", code, err, left, said)
	}

	code, said = e2e.ExitCode(t, e2e.Batch(t, dir, "grade", "--check", "--subset", "rows.jsonl", "-o", "check", "-q", "a-good"))
	if want := "no selected row names a test that decides\n  `batch dataset fill rows.jsonl` finds the tests"; code != e2e.ExitUsage || !strings.Contains(said, want) {
		t.Errorf("exit code %d, want %q in\n%s", code, want, said)
	}
	code, said = e2e.ExitCode(t, e2e.Batch(t, dir, "grade", "--check", "--subset", "out/rows.jsonl", "-o", "checked", "-q", "a-good", "c-flaky"))
	if code != 0 || !strings.Contains(said, "no instance is broken on this machine, of 2") {
		t.Errorf("exit code %d\n%s", code, said)
	}
}

func TestAKilledFillIsContinued(t *testing.T) {
	tier.Rest(t, "grade/fill", "dataset/starter", "cmd/batch/dataset*.go", "cmd/batch/datasetfill*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	writeVariants(t, filepath.Join(dir, "rows.jsonl"), "demo__csvsum-5", map[string]func(map[string]any){
		"killed-fill-1": func(map[string]any) {}, "killed-fill-2": func(map[string]any) {},
	})
	args := []string{"dataset", "fill", "rows.jsonl", "--repeat", "2", "-o", "out", "-q", "-w", "1"}
	ctx, kill := context.WithCancel(t.Context())
	first := e2e.BatchContext(t, ctx, dir, args...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.AwaitGrades(t, filepath.Join(dir, "out", "before"), 2) // of one row
	kill()
	_ = first.Wait()
	if _, err := os.Stat(filepath.Join(dir, "out", "rows.jsonl")); err == nil {
		t.Error("rows of half the work were written")
	}
	if code, said := e2e.ExitCode(t, e2e.Batch(t, dir, args...)); code != 0 || !strings.Contains(said, "filled 2 of 2 rows") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	for _, side := range []string{"before", "after"} {
		list, err := grades.Read(filepath.Join(dir, "out", side))
		if err != nil || len(list) != 4 { // what had a result was not tested again
			t.Errorf("%s: %d executions, want 4, %v", side, len(list), err)
		}
	}
	if n := e2e.ContainersOf(t, "killed-fill-"); n > 0 {
		t.Errorf("%d containers are left", n)
	}
}
