package swebench_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/swebench"
)

func TestAPipeAmongTheLogsIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, swebench.OutputName), 0o644); err != nil {
		t.Skip(err)
	}
	if _, err := swebench.ReadFiles(dir); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "want a regular file") {
		t.Errorf("%v", err)
	}
}
