package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
	"batch.example/batch/session/sessiontest"
)

func TestMain(m *testing.M) {
	if value := os.Getenv(sessiontest.Variable); value != "" {
		if err := sessiontest.Main(value, os.Stdout, files("")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// files are sessions on journals in a directory.
func files(dir string) sessiontest.Store {
	return sessiontest.Store{
		Place: dir,
		Open:  func(place, id string) (sessiontest.Opened, error) { return openIn(place, id, journal.Power) },
	}
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

// memories are sessions on journals in memory.
func memories() sessiontest.Store {
	var mu sync.Mutex
	kept := map[string]*memory{}
	return sessiontest.Store{Open: func(_, id string) (sessiontest.Opened, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept[id] == nil {
			kept[id] = &memory{}
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
type memory struct{ data []byte }

func (m *memory) Size() (int64, error) { return int64(len(m.data)), nil }

func (m *memory) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(m.data).ReadAt(p, at)
}

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
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
	sessiontest.Kill(t, files(t.TempDir()), func(points []int) []int { return sample.Some(t, 25, points) })
}

func TestSessionsInFiles(t *testing.T) { sessiontest.Run(t, files(t.TempDir())) }

func TestSessionsInMemory(t *testing.T) { sessiontest.Run(t, memories()) }
