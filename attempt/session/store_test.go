package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
)

// openIn opens the journal of the session with an id in a directory.
func openIn(dir, id string) (*journal.Writer, error) {
	path := filepath.Join(dir, id, "journal.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return open(path, journal.Options{Durability: journal.Process, Spend: func(_, _ float64) {}})
}

// full is a store that cannot write records, make them durable, or be read, at times.
type full struct {
	session.Store
	flush, sync, read error
}

func (f *full) Flush() error { return errors.Join(f.flush, f.Store.Flush()) }

func (f *full) Sync() error { return errors.Join(f.sync, f.Store.Sync()) }

func (f *full) HistoryHere() (*journal.History, error) {
	h, err := f.Store.HistoryHere()
	return h, errors.Join(f.read, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
