package audit_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/audit"
	"batch.example/batch/dataset"
	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
	"batch.example/batch/results/trajectory"
)

const shared = "../../shared/data/"

// The recorded attempts did nothing that a detector looks for.
func TestRecordedTrajectoriesHaveNoFindings(t *testing.T) {
	files, err := filepath.Glob(shared + "trajectories/*.traj.json")
	if err != nil || len(files) == 0 {
		t.Skip("no trajectories in ../shared/data")
	}
	for _, file := range files {
		v, err := trajectory.ReadFile(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if found, _ := audit.Attempt(v, nil, nil); len(found) > 0 {
			t.Errorf("%s: %+v", file, found)
		}
	}
}

// Gold patches are the right solutions: a detector that finds something in them is wrong, or the
// solution itself changes how tests run.
func TestGoldPatchesHaveNoFindings(t *testing.T) {
	for _, file := range []string{"SWE-bench_Verified-test", "SWE-bench_Lite-test", "SWE-bench_Multilingual-test", "SWE-bench_Multimodal-dev"} {
		path := shared + "datasets/" + file + ".parquet"
		if _, err := os.Stat(path); err != nil {
			t.Skipf("%s is not in ../shared/data", file)
		}
		ds, err := dataset.Open(context.Background(), dataset.Source{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range sample.Some(t, 60, ds.Instances) {
			v := &trajectory.View{Instance: in.ID, Patch: &trajectory.Patch{Text: []byte(in.Patch)}}
			list, _ := audit.Attempt(v, &in, nil)
			for _, f := range list {
				t.Errorf("%s: %s: %s", in.ID, f.Detector, f.Evidence)
			}
		}
	}
}

// Code that was there before a task's base commit is the old side of the patches of earlier tasks
// of its repository. An output with such code is not the task's solution.
func TestEarlierCodeIsNotGoldText(t *testing.T) {
	path := shared + "datasets/SWE-bench_Verified-test.parquet"
	ds, err := dataset.Open(context.Background(), dataset.Source{Name: path})
	if err != nil {
		t.Skip("Verified is not in ../shared/data")
	}
	n, shown := 0, 0
	rows := sample.Some(t, 80, ds.Instances)
	for _, in := range rows {
		if got := of("gold-text", attempt(in.ID, "git show 123\n=> "+in.Patch), &in); got != nil {
			shown++
		}
		v := attempt(in.ID)
		v.Steps = []trajectory.Step{{Mark: journal.Mark{Number: 1}}}
		for _, other := range ds.Instances {
			created, own := other.Fields["created_at"].(string), in.Fields["created_at"].(string)
			if other.Repo == in.Repo && created < own {
				v.Steps[0].Actions = append(v.Steps[0].Actions, trajectory.Action{Output: oldSide(other.Patch + other.TestPatch)})
			}
		}
		for _, evidence := range of("gold-text", v, &in) {
			n++
			t.Logf("%s: %s", in.ID, evidence)
		}
	}
	t.Logf("earlier code: %d, the gold patch: %d of %d", n, shown, len(rows))
	least := len(rows) / 2 // of all 500 there are 359
	if sample.All() {
		least = 350
	}
	if n > 2 || shown < least {
		t.Errorf("gold-text finds the solutions of %d tasks in earlier code, and of %d in the gold patch, want at most 2 and at least %d", n, shown, least)
	}
}

// oldSide returns the lines of a patch before the change.
func oldSide(patch string) string {
	var b strings.Builder
	for _, f := range diff.Read(patch) {
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				if l.Kind != '+' {
					b.WriteString(l.Text + "\n")
				}
			}
		}
	}
	return b.String()
}
