// Package regular opens files of directories that somebody else may have written, such as a run directory
// from a colleague. A named pipe in it would stop its reader forever, and a device fill the memory.
// All functions refuse what is not a regular file, with an error that names it, and never wait for a pipe.
// A link to a regular file is one.
package regular

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Largest is how many bytes [ReadFile] reads at most. Whole files are read only where batch wrote them, or
// the harness did; the largest seen are predictions with patches of 80 MB.
const Largest = 2 << 30

// Open opens a file to read it, as [os.Open] does.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is [os.OpenFile] for a regular file. It is not truncated before it is known to be one.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag&^os.O_TRUNC|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, err
	}
	return checked(f, path, flag)
}

// OpenIn opens a file below a directory to read it. A link in the name that leads out of the directory is
// an error.
func OpenIn(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return checked(f, filepath.Join(dir, name), os.O_RDONLY)
}

// checked returns f if it is a regular file, truncated if flag says so; else it closes f.
func checked(f *os.File, path string, flag int) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is %s, want a regular file", kind(info.Mode()))}
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile returns the content of a file, as [os.ReadFile] does. A file above [Largest] is an error.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > Largest {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has %d bytes, want at most %d", info.Size(), int64(Largest))}
	}
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	text.Grow(int(info.Size()) + bytes.MinRead)
	_, err = text.ReadFrom(io.LimitReader(f, Largest)) // it may grow meanwhile
	return text.Bytes(), err
}

// Own reports whether a file or folder belongs to the user of this process and only that one may write it.
func Own(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// IsFolder reports whether an entry of the directory dir is a folder, or a link to one.
func IsFolder(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no file: " + mode.Type().String()
}
