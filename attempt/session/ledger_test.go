package session_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"batch.example/batch/journal"
)

// ledger is a store that is not a journal: it keeps the records of a session in a file of its own form.
type ledger struct {
	path    string
	mu      sync.Mutex
	entries []entry
}

// entry is a record in a ledger.
type entry struct {
	At   time.Time
	Type string
	Data json.RawMessage
}

// openLedger opens the ledger in a file, and begins or resumes its session.
func openLedger(path string) (*ledger, error) {
	l := &ledger{path: path}
	text, err := os.ReadFile(path)
	began := journal.TypeAttempt
	if err == nil {
		began = journal.TypeResume
		err = json.Unmarshal(text, &l.entries)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return l, l.Append(began, struct{}{})
}

// Append implements [session.Store].
func (l *ledger) Append(typ string, data any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := json.Marshal(data)
	l.entries = append(l.entries, entry{time.Now().UTC(), typ, text})
	return err
}

// Flush implements [session.Store].
func (l *ledger) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := json.Marshal(l.entries)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(l.path+".new", l.path)
}

// Sync implements [session.Store].
func (l *ledger) Sync() error { return l.Flush() }

// Close writes the rest.
func (l *ledger) Close() error { return l.Flush() }

// HistoryHere implements [session.Store]: package journal reads histories, so the entries are written
// to a journal.
func (l *ledger) HistoryHere() (*journal.History, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	w, err := journal.Open(dir+"/journal.jsonl", journal.Tail{}, journal.Options{Durability: journal.Process, Spend: func(_, _ float64) {}})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for _, e := range l.entries {
		if err := play(w, e); err != nil {
			return nil, err
		}
	}
	h, err := w.HistoryHere()
	if err != nil {
		return nil, err
	}
	l.dated(h)
	return h, nil
}

func play(w *journal.Writer, e entry) error {
	switch e.Type {
	case journal.TypeAttempt:
		return w.Begin(1, e.Data)
	case journal.TypeResume:
		last, _ := w.State()
		return w.Resume(e.Data, last.SpentSoFar(), nil)
	default:
		return w.Append(e.Type, e.Data)
	}
}

// dated gives the parts of a history the times of their entries.
func (l *ledger) dated(h *journal.History) {
	h.Started = l.entries[0].At
	turns := 0
	var artifacts []time.Time
	for _, e := range l.entries {
		switch e.Type {
		case journal.TypeTurn:
			h.Turns[turns].Began = e.At
			turns++
		case journal.TypeTurnEnd:
			h.Turns[turns-1].Ended = e.At
		case journal.TypeClear:
			artifacts = nil
		case journal.TypeArtifact:
			artifacts = append(artifacts, e.At)
		}
	}
	for i, at := range artifacts {
		h.Artifacts[i].Saved = at
	}
}
