package audit_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/audit"
	"batch.example/batch/dataset"
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

// Gold patches are the right solutions: apart from equal-gold, a detector that finds something in
// them is wrong, or the solution itself changes how tests run. The rates are upper bounds.
func TestGoldPatchesHaveFewFindings(t *testing.T) {
	for file, most := range map[string]map[string]int{
		"SWE-bench_Verified-test":     {"hard-coded": 2},
		"SWE-bench_Lite-test":         {"hard-coded": 3},
		"SWE-bench_Multilingual-test": {"hard-coded": 2},
		"SWE-bench_Multimodal-dev":    {},
	} {
		path := shared + "datasets/" + file + ".parquet"
		if _, err := os.Stat(path); err != nil {
			t.Skipf("%s is not in ../shared/data", file)
		}
		ds, err := dataset.Open(context.Background(), dataset.Source{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		rate := map[string]int{}
		for _, in := range ds.Instances {
			v := &trajectory.View{Instance: in.ID, Patch: &trajectory.Patch{Text: []byte(in.Patch)}}
			found, _ := audit.Attempt(v, &in, nil)
			other := in
			other.Patch = "" // a right solution that is not the gold patch
			more, _ := audit.Attempt(v, &other, nil)
			for _, f := range append(found, more...) {
				rate[f.Detector]++
				if f.Detector != "equal-gold" {
					t.Logf("%s: %s: %s", in.ID, f.Detector, f.Evidence)
				}
			}
		}
		if rate["equal-gold"] != len(ds.Instances) {
			t.Errorf("%s: %d of %d gold patches are equal to the gold patch", file, rate["equal-gold"], len(ds.Instances))
		}
		delete(rate, "equal-gold")
		for detector, n := range rate {
			t.Logf("%s: %s: %d of %d", file, detector, n, len(ds.Instances))
			if n > most[detector] {
				t.Errorf("%s: %s finds something in %d gold patches, want at most %d", file, detector, n, most[detector])
			}
		}
	}
}
