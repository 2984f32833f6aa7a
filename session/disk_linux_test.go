package session_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"batch.example/batch/fault"
)

func TestAFullDiskFailsTheTurnAndLosesNothing(t *testing.T) {
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
	filler := filepath.Join(dir, "filler")
	fill := func(t *testing.T) {
		if os.WriteFile(filler, make([]byte, 2<<20), 0o644) == nil {
			t.Fatal("the disk is not full")
		}
	}
	free := func(t *testing.T) { must(t, os.Remove(filler)) }
	breaking(t, files(dir), fault.Host, fill, free)
}
