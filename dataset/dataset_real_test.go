package dataset_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"batch.example/batch/dataset"
)

const sharedData = "../../shared/data/datasets"

var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// shared returns the path of a real dataset file, or skips.
func shared(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(filepath.FromSlash(sharedData), name)
	if _, err := os.Stat(path); os.IsNotExist(err) {
		t.Skipf("needs the real dataset %s", path)
	}
	return path
}

func open(t testing.TB, s dataset.Source) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRealDatasets(t *testing.T) {
	for _, want := range []struct {
		file, split                  string
		rows, columns                int
		f2p, p2p, emptyF2P, emptyP2P int
	}{
		{"SWE-bench_Verified-test.parquet", "test", 500, 17, 1516, 60136, 0, 11},
		{"SWE-bench_Lite-test.parquet", "test", 300, 16, 1040, 24514, 0, -1},
		{"SWE-bench_Lite-dev.parquet", "dev", 23, 16, -1, -1, 0, -1},
		{"SWE-bench_Multilingual-test.parquet", "test", 300, 15, 426, 10214, 1, 25},
		{"SWE-bench_Multimodal-dev.parquet", "dev", 102, 16, -1, -1, -1, -1},
	} {
		t.Run(want.file, func(t *testing.T) {
			d := open(t, dataset.Source{Name: shared(t, want.file)})
			if d.Split != want.split {
				t.Errorf("split %q, want %q", d.Split, want.split)
			}
			got := map[string]int{}
			for _, in := range d.Instances {
				got["f2p"] += len(in.FailToPass)
				got["p2p"] += len(in.PassToPass)
				if len(in.FailToPass) == 0 {
					got["empty f2p"]++
				}
				if len(in.PassToPass) == 0 {
					got["empty p2p"]++
				}
				if len(in.Fields) != want.columns {
					t.Fatalf("%s: %d columns, want %d", in.ID, len(in.Fields), want.columns)
				}
				if !commitID.MatchString(in.BaseCommit) {
					t.Errorf("%s: base_commit is %q, want a commit id", in.ID, in.BaseCommit)
				}
				if in.Repo == "" || in.BaseCommit == "" || in.ProblemStatement == "" || in.Patch == "" ||
					in.TestPatch == "" || in.Image == "" || in.EvalScript == "" || in.LogParser == "" || in.EvalType == "" {
					t.Errorf("%s: a column is empty, want some repo, some base commit, some problem statement, some patch, some test patch, some image, some eval script, some log parser, some eval type",
						in.ID)
				}
			}
			for name, n := range map[string]int{"f2p": want.f2p, "p2p": want.p2p, "empty f2p": want.emptyF2P, "empty p2p": want.emptyP2P} {
				if n >= 0 && got[name] != n {
					t.Errorf("%s: %d, want %d", name, got[name], n)
				}
			}
			if len(d.Instances) != want.rows {
				t.Errorf("%d rows, want %d", len(d.Instances), want.rows)
			}
		})
	}
}
