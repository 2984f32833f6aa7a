package main

import (
	"errors"
	"io"
	"os"
	"path"
	"syscall"

	"batch.example/batch/internal/boxinit/wire"
)

// put writes a file. The file gets its name when it is complete.
func put(id string, m wire.Put) (err error) {
	if err := os.MkdirAll(path.Dir(m.Path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(m.Path+".part-"+id, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(m.Data); err != nil {
		return err
	}
	if err := f.Chmod(os.FileMode(m.Mode).Perm()); err != nil {
		return err
	}
	return os.Rename(f.Name(), m.Path)
}

// get sends a file's bytes.
func (s *server) get(to uint64, id string, m wire.Get) error {
	// Without O_NONBLOCK, opening a named pipe would wait.
	f, err := os.OpenFile(m.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	st, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return syscall.EISDIR
	case uint64(st.Size()) > m.Limit:
		return syscall.EFBIG
	}
	buf := make([]byte, wire.Chunk)
	for {
		n, err := f.Read(buf)
		s.stream(to, id, buf[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
