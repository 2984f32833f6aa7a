package faults

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/llm/stub"
)

// smallDisk mounts at dir an ext4 file system of size bytes that is in a file.
func smallDisk(t *testing.T, dir string, size int64) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	image := filepath.Join(t.TempDir(), "disk")
	file, err := os.Create(image)
	if err == nil {
		err = errors.Join(file.Truncate(size), file.Close(), os.Mkdir(dir, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", image).CombinedOutput(); err != nil {
		enginetest.Lacks(t, "mkfs.ext4: %v %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		enginetest.Lacks(t, "mounting a small file system: %v %s", err, out)
	}
	t.Cleanup(func() {
		// Lazily: a process that still reads in there must not keep the loop device.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := os.Remove(filepath.Join(dir, "lost+found")); err != nil {
		t.Fatal(err)
	}
}

// fill writes a file until the disk is full.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, n := range []int{1 << 20, 4096, 1} { // smaller pieces fill the rest
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, n))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
	}
	return nil
}

func TestAFullDiskStopsTheRunAndNothingIsLost(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	want := undisturbed(t)
	for _, when := range []int{0, 3} {
		t.Run(map[int]string{0: "at the first reply", 3: "late"}[when], func(t *testing.T) {
			r := newCrashRun(t, 2)
			smallDisk(t, filepath.Join(r.dir, "out"), 8<<20)
			filler := filepath.Join(r.dir, "out", "filler")
			full := false
			r.wrong = func(name string, n int) (stub.Answer, bool) {
				if !full && name == "two" && n == when {
					if full = true; fill(filler) != nil {
						r.violate("the disk could not be filled")
					}
				}
				return stub.Answer{}, false
			}
			code, died := r.liveWith(0)
			if code != e2e.ExitFailed || died || !strings.Contains(r.out, "no space left") || !strings.Contains(r.out, "free some space") {
				t.Errorf("exit code %d, want %d and what to do\n%s", code, e2e.ExitFailed, r.out)
			}
			// With space again, the same command continues.
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			r.finish(want)
		})
	}
}

func TestAFullDiskStopsGradingAndNoVerdictIsLost(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	smallDisk(t, out, 8<<20)
	args := []string{"grade", "gold", "--subset", "demo", "--slice", ":6", "-o", "out", "-w", "2", "-q", "--no-cache"}
	cmd := e2e.Batch(t, dir, args...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.AwaitGrades(t, out, 1)
	filler := filepath.Join(out, "filler")
	if err := fill(filler); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != e2e.ExitFailed || !strings.Contains(said.String(), "no space left") || !strings.Contains(said.String(), "free some space") {
		t.Errorf("exit code %d, want %d and what to do\n%s", code, e2e.ExitFailed, &said)
	}
	if n := len(e2e.Verdicts(t, out)); n < 1 || n == 6 {
		t.Errorf("%d of 6 have a verdict", n)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if code, text := e2e.ExitCode(t, e2e.Batch(t, dir, args...)); code != 0 {
		t.Errorf("with space again: exit code %d\n%s", code, text)
	}
	e2e.GradedOnce(t, out, 6)
}
