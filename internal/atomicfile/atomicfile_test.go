package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
)

var files atomicfile.Files

func put(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"first", "", "a longer third content"} {
		if err := files.Write(path, 0o644, put(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Fatalf("got %q, %v, want %q", got, err, text)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("files left: %q, want 1 value", got)
	}
}

func TestAFailingWriterLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := files.Write(path, 0o644, put("old")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := files.Write(path, 0o644, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("error %v, want the writer's", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("content %q, want the old one", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("files left: %q, want 1 value", got)
	}
}

func TestWriteIntoAMissingDirectoryFails(t *testing.T) {
	err := files.Write(filepath.Join(t.TempDir(), "no", "f"), 0o644, put("x"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want %v", err, os.ErrNotExist)
	}
}

func TestSweepRemovesOnlyLeftovers(t *testing.T) {
	dir := t.TempDir()
	keep := []string{".f", ".fx1", ".f12a", ".g123", "f", "f123"}
	for _, n := range append([]string{".f1", ".f9223372036854775807"}, keep...) {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := atomicfile.Sweep(dir, names(t, dir), "f"); err != nil {
		t.Fatal(err)
	}
	got := names(t, dir)
	if len(got) != len(keep) {
		t.Errorf("left %q, want %q", got, keep)
	}
}

func TestDiskErrorsGiveHints(t *testing.T) {
	for _, cause := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EMFILE, syscall.ENOLCK, syscall.ENOTSUP, syscall.ENOSYS,
	} {
		err := atomicfile.Fault("locking the output directory", fmt.Errorf("wrapped: %w", cause))
		hint := fault.HintOf(err)
		if fault.KindOf(err) != fault.Host || hint == "" {
			t.Errorf("%v: got %v, hint %q; want a Host fault, some hint", cause, err, hint)
		}
		if cause == syscall.ENOLCK && !strings.Contains(hint, "no locks") {
			t.Errorf("%v: hint %q, want %q in the hint", cause, hint, "no locks")
		}
	}
}
