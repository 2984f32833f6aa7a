package session

import (
	"io"
	"sync"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/journal"
)

// heldFile keeps what is written in memory until it is saved. It is only appended to.
type heldFile struct {
	journal.File
	mu    sync.Mutex
	known bool
	saved int64 // size of File
	held  []byte
}

// size returns how much was saved. f.mu is held.
func (f *heldFile) size() (int64, error) {
	if f.known {
		return f.saved, nil
	}
	n, err := f.File.Size()
	f.saved, f.known = n, err == nil
	return n, err
}

// Size implements [journal.File].
func (f *heldFile) Size() (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.size()
	return n + int64(len(f.held)), err
}

// WriteAt implements [journal.File].
func (f *heldFile) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	saved, err := f.size()
	if err != nil {
		return 0, err
	}
	if at < saved {
		return f.File.WriteAt(p, at)
	}
	f.held = append(f.held[:at-saved], p...)
	return len(p), nil
}

// ReadAt implements [journal.File].
func (f *heldFile) ReadAt(p []byte, at int64) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	saved, err := f.size()
	if err != nil {
		return 0, err
	}
	if at < saved {
		n, err = f.File.ReadAt(p[:min(int64(len(p)), saved-at)], at)
		if err != nil && err != io.EOF || at+int64(n) < saved {
			return n, err
		}
	}
	if from := at + int64(n) - saved; from < int64(len(f.held)) {
		n += copy(p[n:], f.held[from:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Truncate implements [journal.File].
func (f *heldFile) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	saved, err := f.size()
	switch {
	case err != nil:
		return err
	case size >= saved:
		f.held = f.held[:min(int64(len(f.held)), size-saved)]
		return nil
	}
	f.held, f.saved = nil, size
	return f.File.Truncate(size)
}

// Sync implements [journal.File]: what is held stays held.
func (*heldFile) Sync() error { return nil }

// save writes what is held.
func (f *heldFile) save() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.held) == 0 {
		return nil
	}
	if _, err := f.File.WriteAt(f.held, f.saved); err != nil {
		return atomicfile.Fault("saving a session", err)
	}
	if err := f.File.Sync(); err != nil {
		return atomicfile.Fault("saving a session", err)
	}
	f.saved += int64(len(f.held))
	f.held = nil
	return nil
}
