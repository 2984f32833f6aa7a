// Package datasettest gives tests the rows of the real datasets. These files are outside the
// repository, in ../shared/data/datasets.
//
// Its API is not promised to other programs: see package batch.
package datasettest

import (
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/dataset"
)

// Files are the real datasets, without "SWE-bench_" and ".parquet".
var Files = []string{"Verified-test", "Lite-test", "Lite-dev", "Multilingual-test", "Multimodal-dev"}

// Rows returns the rows of one of Files. It skips the test if the file is missing, and fails it if
// the file cannot be read.
func Rows(t testing.TB, file string) []dataset.Instance {
	t.Helper()
	root, err := os.Getwd()
	for err == nil && root != filepath.Dir(root) {
		if _, missing := os.Stat(filepath.Join(root, "go.mod")); missing == nil {
			break
		}
		root = filepath.Dir(root)
	}
	path := filepath.Join(root, "..", "shared", "data", "datasets", "SWE-bench_"+file+".parquet")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("needs the real dataset: %v", err)
	}
	d, err := dataset.Open(t.Context(), dataset.Source{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	return d.Instances
}
