package enginetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	place  = "/tmp" // and not TMPDIR: the next run must find what a killed run left
	prefix = "batch-dockerd-"
)

// claim creates a directory for an engine, and holds it for as long as the returned
// file is open: sweep removes directories that are not held.
func claim() (string, *os.File, error) {
	for {
		dir, err := os.MkdirTemp(place, prefix) // short: paths of sockets have a limit
		if err != nil {
			return "", nil, err
		}
		held, err := hold(dir, unix.LOCK_EX)
		if !errors.Is(err, fs.ErrNotExist) { // otherwise it was swept before it was held
			return dir, held, err
		}
	}
}

// hold locks an engine's directory. It fails with fs.ErrNotExist if that was removed.
func hold(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), how); err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweep removes the directories and cgroups of engines whose tests were killed.
func sweep(t testing.TB) {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(place, prefix+"*"))
	for _, dir := range dirs {
		held, err := hold(dir, unix.LOCK_EX|unix.LOCK_NB)
		if err != nil { // it is in use, or was removed meanwhile
			continue
		}
		remove(t, dir)
		_ = held.Close() // only read
	}
}

// remove removes the directory of an engine that has ended, and the cgroups of its
// containers. Processes of a killed test may end, and write files, a little later.
func remove(t testing.TB, dir string) {
	t.Helper()
	var groups []string
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		found, _ := filepath.Glob(pattern + filepath.Base(dir))
		groups = append(groups, found...)
	}
	for _, group := range groups {
		if err := removeGroup(group); err != nil {
			t.Error(err)
		}
	}
	end := time.Now().Add(patience)
	err := os.RemoveAll(dir)
	for ; err != nil && time.Now().Before(end); err = os.RemoveAll(dir) {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Error(err)
	}
}

// removeGroup removes a cgroup and those below it. The kernel may need a moment to notice
// that their processes have ended.
func removeGroup(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	for _, dir := range slices.Backward(dirs) {
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			err := os.Remove(dir)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
				return err
			}
		}
	}
	return err
}
