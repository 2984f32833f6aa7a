package images_test

import (
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/sandbox/images"
)

// OpenLedger fails if locks do not work, before an instance needs one: the caller then
// keeps the ledger elsewhere.
func TestALedgerWhoseFilesCannotBeLockedIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	if _, err := images.OpenLedger(dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "holds", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("no lock was tried: %q, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(files[0], 0o755); err != nil { // so that no user can open it for writing
		t.Fatal(err)
	}
	if _, err := images.OpenLedger(dir); err == nil {
		t.Error("a ledger that cannot be locked was opened")
	}
}
