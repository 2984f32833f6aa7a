package grading

import (
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
	"batch.example/batch/vocab"
)

// An image that cannot run the tests says nothing about the patch. A patch that removes the
// test runner fails.
func TestAMissingTestRunnerIsTheImages(t *testing.T) {
	tier.Rest(t, "grade", "run/grading", "cmd/batch/grade*.go", "sandbox/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	all := e2e.DemoInstances(t)
	row := all[slices.IndexFunc(all, func(in dataset.Instance) bool { return in.ID == "demo__csvsum-5" })]
	grade := func(name, patch, tests string) (code int, said string, g grades.Grade) {
		t.Helper()
		fields := maps.Clone(row.Fields)
		fields["eval_script"] = ": '>>>>> Start Test Output'\n" + tests + "\n: '>>>>> End Test Output'\n"
		preds := []map[string]string{{"instance_id": row.ID, "model_name_or_path": "m", "model_patch": patch}}
		for file, value := range map[string]any{name + ".jsonl": fields, name + ".json": preds} {
			text, err := json.Marshal(value)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, file), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		code, said = e2e.ExitCode(t, e2e.Batch(t, dir, "grade", name+".json", "--subset", name+".jsonl", "-o", name, "-q"))
		list, err := grades.Read(filepath.Join(dir, name))
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %+v\n%s", err, list, said)
		}
		return code, said, list[0]
	}

	code, said, g := grade("absent", row.Patch, "no-such-runner -rA")
	if code != e2e.ExitIncomplete || g.Verdict != vocab.VerdictUngradeable ||
		!strings.HasPrefix(g.Why, "the image cannot run the tests, whatever the patch: line ") || !strings.HasSuffix(g.Why, ": no-such-runner: command not found") {
		t.Errorf("exit code %d, %+v\n%s", code, g, said)
	}
	var report struct {
		Errors    []string `json:"error_ids"`
		Completed []string `json:"completed_ids"`
	}
	e2e.ReadJSON(t, filepath.Join(dir, "absent", "m.absent.json"), &report)
	if !slices.Equal(report.Errors, []string{row.ID}) || len(report.Completed) > 0 {
		t.Errorf("%+v", report)
	}

	const removes = "diff --git a/bin/csvsum b/bin/other\nsimilarity index 100%\nrename from bin/csvsum\nrename to bin/other\n"
	code, said, g = grade("removed", removes, "bash bin/csvsum n </dev/null || [ $? != 127 ] && bash tests/run.sh")
	if code != 0 || g.Verdict != vocab.VerdictUnresolved {
		t.Errorf("exit code %d, %+v\n%s", code, g, said)
	}

	// A log that lost tests, and says why, is marked.
	code, said, g = grade("killed", row.Patch, "bash tests/run.sh | head -n 2; echo Killed; (exit 137)")
	const doubt = `6 of 8 expected tests are not in the log, and the log says "Killed"`
	if code != 0 || g.Verdict != vocab.VerdictUnresolved || g.Doubt != doubt || !strings.Contains(said, "the verdict may be wrong") {
		t.Errorf("exit code %d, %+v\n%s", code, g, said)
	}
	var marked struct {
		Doubts map[string]string `json:"doubts"`
		Infra  []string          `json:"infra_failure_ids"`
	}
	e2e.ReadJSON(t, filepath.Join(dir, "killed", "m.killed.json"), &marked)
	if marked.Doubts[row.ID] != doubt || len(marked.Infra) > 0 {
		t.Errorf("%+v", marked)
	}
}
