package journal

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

// copiesFile is the file beside a journal with the copies of its records that people may read.
const copiesFile = "masked.jsonl"

// CopiesPath returns the path of that file.
func CopiesPath(path string) string { return filepath.Join(filepath.Dir(path), copiesFile) }

// copies is that file, open for a [Writer]. Nothing is found in it but by a record that names a
// place in it, so what a crash leaves there does no harm.
type copies struct {
	open    func() (File, error)
	f       File // nil: no record has needed it
	pending []byte
	written int64
	dirty   bool // something was written since the last sync
}

// openCopies follows no link: in a directory from somebody else, it would lead to any file of the user's.
func openCopies(path string, files atomicfile.Files) (File, error) {
	f, err := regular.OpenFile(CopiesPath(path), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, journalMode)
	if err == nil {
		err = files.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, atomicfile.Fault("opening the masked copies of a journal", err)
	}
	return osFile{f}, nil
}

// add sets what r says about its copy, and adds the copy if it has one.
func (c *copies) add(r *Record, e encoded) (err error) {
	if e.forPeople == nil {
		if e.looked {
			r.Masked = -1
		}
		return nil
	}
	if c.f == nil {
		if c.f, err = c.open(); err == nil {
			c.written, err = c.f.Size()
		}
		if err != nil {
			return err
		}
	}
	if c.written == 0 && len(c.pending) == 0 {
		c.pending = append(c.pending, '\n') // no copy is at 0
	}
	at := c.written + int64(len(c.pending))
	of := *r
	of.Data = e.forPeople.data
	c.pending = appendRecord(c.pending, &of, e.forPeople.output)
	r.Masked = at
	return nil
}

// write hands the pending copies to the system. After an error they are written again.
func (c *copies) write() error {
	if len(c.pending) == 0 {
		return nil
	}
	if _, err := c.f.WriteAt(c.pending, c.written); err != nil {
		return atomicfile.Fault("writing the masked copies of a journal", errors.Join(err, c.f.Truncate(c.written)))
	}
	c.written, c.pending, c.dirty = c.written+int64(len(c.pending)), nil, true
	return nil
}

func (c *copies) sync() error {
	if !c.dirty {
		return nil
	}
	c.dirty = false // a failure ends the Writer
	return c.f.Sync()
}

func (c *copies) close() error {
	if c.f == nil {
		return nil
	}
	return c.f.Close()
}

// Shown is a journal as people may read it. Every function of this package that reads a journal
// record by record reads a record's copy in its place, if the process that wrote it has found a
// secret; from [Scan] and [ReadTail] come exact records. [Record.Masked] is 0 if that process has not
// looked for secrets: then the record is exact.
type Shown struct {
	*os.File // exact

	mu     sync.Mutex
	copies *os.File // nil: not open
}

// OpenShown opens the journal at path. Without it the error wraps fs.ErrNotExist.
func OpenShown(path string) (*Shown, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	return &Shown{File: f}, nil
}

// Record returns what people may read of a record of the journal. A missing copy is an error.
func (s *Shown) Record(r Record) (Record, error) {
	if r.Masked <= 0 {
		return r, nil
	}
	shown, err := s.copyAt(r.Masked)
	if err == nil && shown.Seq != r.Seq {
		err = fault.Newf(fault.Instance, "another record is in its place")
	}
	if err != nil { // a missing file is not a missing journal, which callers look for
		return Record{}, fault.Newf(fault.Instance, "%s: record %d has a secret, and its copy for people cannot be read: %v", s.Name(), r.Seq, err).
			WithHint("%s belongs to the journal: copy both", copiesFile)
	}
	r.Data = shown.Data
	return r, nil
}

func (s *Shown) copyAt(place int64) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copies == nil {
		f, err := regular.Open(CopiesPath(s.Name()))
		if err != nil {
			return Record{}, err
		}
		s.copies = f
	}
	info, err := s.copies.Stat()
	if err != nil {
		return Record{}, err
	}
	return RecordAt(s.copies, place, max(place, info.Size()))
}

// Close closes the journal.
func (s *Shown) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copies != nil {
		return errors.Join(s.copies.Close(), s.File.Close())
	}
	return s.File.Close()
}
