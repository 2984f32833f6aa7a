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
	place  = "/tmp" // whatever TMPDIR is: the next run must find what a killed one left
	prefix = "batch-dockerd-"
)

// claim makes a folder for an engine, and holds it for as long as the returned
// file is open: one that nobody holds is swept.
func claim() (string, *os.File, error) {
	for {
		dir, err := os.MkdirTemp(place, prefix) // short: paths of sockets have a limit
		if err != nil {
			return "", nil, err
		}
		held, err := hold(dir, unix.LOCK_EX)
		if !errors.Is(err, fs.ErrNotExist) { // nobody swept it before it was held
			return dir, held, err
		}
	}
}

// hold locks an engine's folder. It fails with fs.ErrNotExist when that is gone.
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

// sweep removes what engines left whose tests were killed.
func sweep(t testing.TB) {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(place, prefix+"*"))
	for _, dir := range dirs {
		held, err := hold(dir, unix.LOCK_EX|unix.LOCK_NB)
		if err != nil { // it is in use, or gone by now
			continue
		}
		remove(t, dir)
		_ = held.Close() // only read
	}
}

// remove removes the folder of an engine that is gone, and the cgroups of its containers.
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
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// removeGroup removes a cgroup and those below it, of which the kernel may take
// a moment to see that their processes are gone.
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
