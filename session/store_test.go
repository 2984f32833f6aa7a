package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
)

func TestMain(m *testing.M) {
	if value := os.Getenv(childVariable); value != "" {
		if err := child(value, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// stores are the sessions at a place.
type stores struct {
	open  func(place, id string) (*journal.Writer, error)
	place string
}

// files are sessions on journals in a directory.
func files(dir string) stores {
	return stores{func(dir, id string) (*journal.Writer, error) { return openIn(dir, id, journal.Power) }, dir}
}

// openIn opens the journal of the session with an id in a directory.
func openIn(dir, id string, d journal.Durability) (*journal.Writer, error) {
	path := journalIn(dir, id)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return open(path, journal.Options{Durability: d, Spend: func(_, _ float64) {}})
}

func journalIn(dir, id string) string { return filepath.Join(dir, id, "journal.jsonl") }

// memories are sessions on journals in memory, which may be full.
func memories(full *atomic.Bool) stores {
	var mu sync.Mutex
	kept := map[string]*memory{}
	return stores{open: func(_, id string) (*journal.Writer, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept[id] == nil {
			kept[id] = &memory{full: full}
		}
		w, err := journal.OpenFile(kept[id], journal.Options{Spend: func(_, _ float64) {}})
		if err != nil {
			return nil, err
		}
		if err := continued(w); err != nil {
			return nil, errors.Join(err, w.Close())
		}
		return w, nil
	}}
}

// memory is a [journal.File].
type memory struct {
	data []byte
	full *atomic.Bool
}

func (m *memory) Size() (int64, error) { return int64(len(m.data)), nil }

func (m *memory) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(m.data).ReadAt(p, at)
}

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	if m.full.Load() {
		return 0, syscall.ENOSPC
	}
	m.data = append(m.data[:at], p...)
	return len(p), nil
}

func (m *memory) Truncate(size int64) error {
	m.data = m.data[:size]
	return nil
}

func (*memory) Sync() error  { return nil }
func (*memory) Close() error { return nil }

func TestAKilledSessionInFilesIsResumed(t *testing.T) {
	killed(t, files(t.TempDir()), func(points []int) []int { return sample.Some(t, 25, points) })
}

func TestSessionsInFiles(t *testing.T) { suite(t, files(t.TempDir())) }

func TestSessionsInMemory(t *testing.T) { suite(t, memories(&atomic.Bool{})) }
