package notes

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/journal"
)

// File is the name of the file in a run directory.
const File = "notes.jsonl"

// lockFile is held while a record is added. It is not [File] itself, because that may be moved
// aside.
const lockFile = ".notes.lock"

// damaged says what to do about a damaged file.
const damaged = "move " + File + " away: only the notes are in it"

const (
	typeNote    = "note"
	typeRemoved = "removed"
)

type removed struct {
	ID   string    `json:"id"`
	Who  string    `json:"who"`
	When time.Time `json:"when"`
}

// Path is the file of the run directory dir.
func Path(dir string) string { return filepath.Join(dir, File) }

// Read returns the notes of the run directory dir in the order in which they were added, without
// the removed ones; none if there is no file. It takes no lock. A damaged line is an error with
// its number, beside the notes before it.
func Read(dir string) ([]Note, error) {
	var list notes
	err := journal.ReadLog(Path(dir), damaged, list.take)
	return list, err
}

// Add appends a note to the run directory dir, which must exist, and returns it with its id and its
// time. The note is durable if the error is nil. The error is a Usage fault if the note is wrong:
// see [Note.Check]. Add does not know which instances and steps there are.
func Add(dir string, n Note) (Note, error) {
	if err := n.Check(); err != nil {
		return Note{}, err
	}
	err := change(dir, func(list notes) ([]journal.Entry, error) {
		n.ID, n.When = list.free(), now()
		return []journal.Entry{{Type: typeNote, Data: n}}, nil
	})
	if err != nil {
		return Note{}, err
	}
	return n, nil
}

// Carry appends the notes of another run directory that dir does not have yet. They keep their ids,
// except where another note of dir has the same. They are durable if the error is nil.
func Carry(dir string, from []Note) error {
	if len(from) == 0 {
		return nil
	}
	return change(dir, func(list notes) (entries []journal.Entry, err error) {
		for _, n := range from {
			if err := n.Check(); err != nil {
				return nil, err
			}
			if slices.Contains(list, n) {
				continue
			}
			if n.ID == "" || list.find(n.ID) >= 0 {
				n.ID = list.free()
			}
			list = append(list, n)
			entries = append(entries, journal.Entry{Type: typeNote, Data: n})
		}
		return entries, nil
	})
}

// Remove removes the note with this id, for the user who. It is durable if the error is nil. If
// there is no such note, any more or at all, the error is a Usage fault.
func Remove(dir, id, who string) error {
	return change(dir, func(list notes) ([]journal.Entry, error) {
		if list.find(id) < 0 {
			return nil, fault.Newf(fault.Usage, "id: %s has no note %q", dir, id).WithHint("`batch note %s` lists its notes", dir)
		}
		return []journal.Entry{{Type: typeRemoved, Data: removed{id, who, now()}}}, nil
	})
}

// patience is how long another process may add notes, also on a busy machine.
const patience = 30 * time.Second

// change appends the records that what returns for the notes of the directory. No other process
// adds meanwhile.
func change(dir string, what func(notes) ([]journal.Entry, error)) (err error) {
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o644))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if locked, err := lock.TryLockContext(ctx, 5*time.Millisecond); !locked {
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			return fault.Newf(fault.Host, "%s is locked by another process", filepath.Join(dir, lockFile)).WithHint("end that process, and add the note again")
		}
		return atomicfile.Fault("adding a note in "+dir, err)
	}
	defer func() { err = errors.Join(err, atomicfile.Fault("adding a note in "+dir, lock.Close())) }()
	var list notes
	log, err := journal.OpenLog(Path(dir), journal.LogOptions{Public: true, Hint: damaged}, list.take)
	if err != nil {
		return err
	}
	entries, err := what(list)
	if err != nil {
		return err
	}
	_, err = log.Add(entries...)
	return err
}

// now is the time of a record, in whole milliseconds, which JSON keeps.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

type notes []Note

func (l *notes) take(r journal.Record, _ journal.Place) error {
	switch r.Type {
	case typeNote:
		n, err := journal.Decode[Note](r)
		if err == nil {
			err = n.Check()
		}
		if err != nil {
			return fault.Newf(fault.Instance, "line %d is not a note: %w", r.Seq, err)
		}
		*l = append(*l, n)
	case typeRemoved:
		gone, err := journal.Decode[removed](r)
		if err != nil {
			return err
		}
		*l = slices.DeleteFunc(*l, func(n Note) bool { return n.ID == gone.ID })
	}
	return nil
}

func (l notes) find(id string) int {
	return slices.IndexFunc(l, func(n Note) bool { return n.ID == id })
}

// free makes an id that no note has. It is random, so that notes keep their ids when directories
// are merged, and short, so that a person can type it.
func (l notes) free() string {
	for {
		if id := strings.ToLower(rand.Text()[:8]); l.find(id) < 0 {
			return id
		}
	}
}
