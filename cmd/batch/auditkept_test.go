package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A report that finds all of it kept uses it too.
func TestKeptFindingsLiveFromTheLastReport(t *testing.T) {
	t.Parallel()
	path, old := filepath.Join(t.TempDir(), "a.json"), time.Now().Add(-keptLife+time.Hour)
	one := map[string]audited{"key": {}}
	for _, added := range []bool{true, false} {
		(&keptAudits{path: path, by: one, used: one, added: added}).save()
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) > time.Hour/2 {
			t.Fatalf("added %v: last written %v, %v; want now", added, info, err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
}
