package session

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/journal"
)

// Options are how a store is opened.
type Options struct {
	Manual     bool               // nothing is written until the session is saved, paused or shut down
	Durability journal.Durability // empty: journal.Power
}

// contextID is what a context id must look like: it is also the name of a directory.
var contextID = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// CheckID returns a Usage fault if id cannot be a context id: letters, digits, and . _ -
// after the first, at most 128 in all.
func CheckID(id string) error {
	if !contextID().MatchString(id) {
		return fault.Newf(fault.Usage, "context id %.140q: expected at most 128 letters, digits, dots, dashes and underscores, the first one a letter or a digit", id)
	}
	return nil
}

const (
	journalName = "journal.jsonl"
	lockName    = "lock"
)

// OpenFiles opens the session with a context id in a directory of sessions, which it makes if
// it is missing. The session's journal is in DIR/ID/journal.jsonl. If another process, or
// another Store of this one, has the session open, [ErrInUse] is in the chain of the error.
func OpenFiles(dir, id string, o Options) (Store, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, id)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, atomicfile.Fault("creating a session's directory", err)
	}
	lock := flock.New(filepath.Join(folder, lockName))
	held, err := lock.TryLock()
	if err != nil {
		return nil, atomicfile.Fault("locking a session", err)
	}
	if !held {
		return nil, fault.New(fault.Usage, "opening session "+id, ErrInUse)
	}
	f, err := os.OpenFile(filepath.Join(folder, journalName), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = atomicfile.Files{}.SyncDir(folder)
	}
	if err != nil {
		return nil, errors.Join(atomicfile.Fault("opening a session's journal", err), lock.Unlock())
	}
	s, err := OpenFile(id, osFile{f}, o)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	s.unlock = lock.Unlock
	return s, nil
}

// osFile is a journal in a file.
type osFile struct{ *os.File }

// Size implements [journal.File].
func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// FileStore is a Store on the bytes of a journal, wherever they are kept.
type FileStore struct {
	onJournal
	writer *journal.Writer
	held   *heldFile // nil if the store saves by itself
	unlock func() error
}

// OpenFile opens the session in f, which it owns from then on: it is closed by Close, or by
// an error.
func OpenFile(id string, f journal.File, o Options) (*FileStore, error) {
	s := &FileStore{unlock: func() error { return nil }}
	if o.Manual {
		s.held = &heldFile{File: f}
		f = s.held
	}
	past, err := journal.HistoryOf(f)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, f.Close())
	}
	s.writer, err = journal.OpenFile(f, journal.Options{Durability: cmp.Or(o.Durability, journal.Power), Spend: func(_, _ float64) {}})
	if err != nil {
		return nil, err
	}
	s.onJournal = onJournal{Journal: s.writer, id: id, read: s.writer.HistoryHere}
	if err := s.opened(past); err != nil {
		return nil, errors.Join(err, s.writer.Close())
	}
	return s, nil
}

// opened records that the session was opened.
func (s *FileStore) opened(past *journal.History) error {
	if past == nil {
		return s.writer.Begin(1, struct{}{})
	}
	last, _ := s.writer.State()
	var reply *journal.ReplyData
	if step := past.Last(); step != nil {
		reply = step.Reply
	}
	return s.writer.Resume(struct{}{}, last.SpentSoFar(), reply)
}

// Save implements [Store].
func (s *FileStore) Save() error {
	err := s.writer.Sync()
	if err == nil && s.held != nil {
		err = s.held.save()
	}
	return err
}

// Close implements [Store].
func (s *FileStore) Close() error {
	return errors.Join(s.Save(), s.writer.Close(), s.unlock())
}
