package results_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

func TestAFullDiskIsTheHostsFaultAndLosesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s, err := results.Open(dir, results.Options{FlushEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, result("first", "kept"))
	if err := s.WritePredictions(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), result("big", strings.Repeat("x", 2<<20)))
	if fault.KindOf(err) != fault.Host || !strings.Contains(fault.HintOf(err), "space") {
		t.Errorf("error %v (%v), hint %q; want a Host fault, %q", err, fault.KindOf(err), fault.HintOf(err), "space")
	}
	if _, ok := s.Finished("big"); ok {
		t.Error("the result that did not fit counts as finished")
	}
	journalOnFullDisk(t, s, dir)
	closeStore(t, s)
	s, err = results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := s.Finished("first"); !ok || r.PatchBytes != 4 || preds(t, dir)["first"].Patch != "kept" {
		t.Errorf("first: %+v, %v; want ok true, patch bytes 4, patch %q", r, ok, "kept")
	}
	closeStore(t, s)
	noLeftovers(t, dir)
}

// journalOnFullDisk checks that a journal survives a write that does not fit, and continues
// at the same record once there is room again.
func journalOnFullDisk(t *testing.T, s *results.Store, dir string) {
	t.Helper()
	a, err := s.Begin("journal", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	_ = os.WriteFile(filler, make([]byte, 4<<20), 0o644) // fails when the disk is full
	if err := a.Journal().Append(journal.TypeOutput, strings.Repeat("y", 64<<10)); err != nil {
		t.Fatal(err)
	}
	if err := a.Journal().Sync(); fault.KindOf(err) != fault.Host {
		t.Errorf("sync on a full disk: got %v, want an error", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := a.Journal().Sync(); err != nil {
		t.Errorf("sync when there is room again: got error %v", err)
	}
	records, torn, err := journal.Read(filepath.Join(dir, "journal", "journal.jsonl"))
	if err != nil || torn != 0 || len(records) != 2 {
		t.Errorf("got %d records, torn %d, %v; want torn 0, 2 records, no error", len(records), torn, err)
	}
}
