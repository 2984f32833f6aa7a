package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFullDiskStopsTheRunAndKeepsWhatIsThere(t *testing.T) {
	needDocker(t)
	dir := t.TempDir()
	small := filepath.Join(dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=400k"); err != nil {
		t.Skipf("mounting a small file system needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	cmd := batch(t.Context(), dir, "run", "--subset", "demo", "-m", "oracle", "-o", filepath.Join(small, "out"), "-q", "-w", "2")
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(string(out), "no space left") {
		t.Errorf("exit code %d, want %d\n%s", code, exitFailed, out)
	}
	_ = predictions(t, filepath.Join(small, "out")) // still valid JSON
	// With room again, the same command ends the job.
	if err := syscall.Mount("tmpfs", small, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	cmd = batch(t.Context(), dir, "run", "--subset", "demo", "-m", "oracle", "-o", filepath.Join(small, "out"), "-q", "-w", "2")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if p := predictions(t, filepath.Join(small, "out")); len(p) != 10 {
		t.Errorf("%d predictions, want 10", len(p))
	}
}
