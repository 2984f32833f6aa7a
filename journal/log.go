package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

// Log is a file of records that is not the journal of an instance, such as the grades of a
// run directory. It has a journal's lines, checksums and sequence numbers. The file is open only
// while it is read or written: a process may have many Logs, and need not close them. Methods
// are safe for concurrent use; other processes may read the file, but not write it.
type Log struct {
	path  string
	o     LogOptions
	notes []string

	mu    sync.Mutex
	tail  Tail
	dirty bool // a failed Add may have left bytes after the tail
	ended bool
}

// LogOptions are the options of [OpenLog]; the zero value works.
type LogOptions struct {
	Files  atomicfile.Files // asked before every write and fsync
	Public bool             // the file holds no secrets: see [Options]
	Hint   string           // what to do about a damaged file
}

// Place is where a record of a [Log] begins in its file, in bytes.
type Place int64

// Entry is a record to add to a [Log].
type Entry struct {
	Type string // a lower-case word
	Data any    // marshaled to JSON
}

// OpenLog opens the log at path, which the caller owns, and calls take with each of its records. It
// creates the file, so that a caller learns before its work if the file cannot be written. A last
// record that a crash left incomplete is cut off. A file without a whole record may be another
// program's: it is moved aside.
func OpenLog(path string, o LogOptions, take func(Record, Place) error) (*Log, error) {
	l := &Log{path: path, o: o}
	if err := ReadLog(path, o.Hint, take); err != nil {
		return nil, err
	}
	if err := l.recover(); err != nil {
		return nil, err
	}
	w, err := l.open()
	if err != nil {
		return nil, err
	}
	return l, w.Close()
}

// recover removes everything after the last whole record.
func (l *Log) recover() (err error) {
	if l.tail, err = ReadTail(l.path); err != nil || l.tail.Torn == 0 {
		return err
	}
	name := filepath.Base(l.path)
	if l.tail.Last.Seq == 0 {
		aside, err := l.o.Files.MoveAside(l.path)
		l.notes = append(l.notes, fmt.Sprintf("%s had no whole record: moved to %s", name, filepath.Base(aside)))
		l.tail = Tail{}
		return atomicfile.Fault("moving "+name+" aside", err)
	}
	l.notes = append(l.notes, fmt.Sprintf("%s: cut %d bytes of an incomplete record off its end, after record %d", name, l.tail.Torn, l.tail.Last.Seq))
	return l.tail.Cut(l.path, l.o.Files.Inject)
}

// open opens the file for appending.
func (l *Log) open() (*Writer, error) {
	return Open(l.path, l.tail, Options{Files: l.o.Files, Public: l.o.Public, Spend: func(_, _ float64) {}})
}

// ReadLog calls take with each record of the log at path, without changing it. A missing file
// has no records. A damaged line before whole records is an error, as for [Scan].
func ReadLog(path, hint string, take func(Record, Place) error) error {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return atomicfile.Fault("opening "+path, err)
	}
	defer f.Close()
	_, err = scan(f, take)
	switch kind := fault.KindOf(err); {
	case err == nil:
		return nil
	case kind == fault.Instance && hint != "":
		return fault.New(kind, "reading "+path, err).WithHint("%s", hint)
	default:
		return fault.New(kind, "reading "+path, err)
	}
}

// Decode returns the data of a record as a T.
func Decode[T any](r Record) (v T, err error) {
	if err := json.Unmarshal(r.Data, &v); err != nil {
		return v, fault.New(fault.Instance, fmt.Sprintf("line %d is not a record of type %s", r.Seq, r.Type), err)
	}
	return v, nil
}

// Recovered describes what OpenLog removed after a crash, one text for each removal.
func (l *Log) Recovered() []string { return slices.Clone(l.notes) }

// Empty reports whether the log has no record.
func (l *Log) Empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail.Last.Seq == 0
}

// Add appends records, and returns where they are. They are durable when Add returns. After an
// error, a reader may or may not find them; the next Add replaces them.
func (l *Log) Add(list ...Entry) (places []Place, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil, fault.Newf(fault.Bug, "adding to %s: its directory is closed", l.path)
	}
	if err := l.there(); err != nil {
		return nil, err
	}
	if l.dirty {
		if err := l.tail.Cut(l.path, l.o.Files.Inject); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	l.dirty = true
	w, err := l.open()
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		places = append(places, Place(w.written+int64(len(w.pending))))
		if err = w.Append(e.Type, e.Data); err != nil {
			break
		}
	}
	if err == nil {
		err = w.Sync()
	}
	if closing := w.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	l.tail, l.dirty = Tail{Last: w.last, End: w.written}, false
	return places, nil
}

// there refuses a file that is shorter than this process left it: writing at the old place
// would fill a gap with zeros, and nothing could read the file any more.
func (l *Log) there() error {
	if l.tail.End == 0 {
		return nil
	}
	info, err := os.Stat(l.path)
	if err == nil && info.Size() < l.tail.End {
		err = fault.Newf(fault.Host, "%s was replaced or cut while it was in use", l.path)
	}
	return atomicfile.Fault("adding to "+l.path, err)
}

// Close makes each later Add fail, for an owner that gives up the file's directory. Its error is nil.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	return nil
}

// At reads a record again.
func (l *Log) At(at Place) (Record, error) {
	f, err := regular.Open(l.path)
	if err != nil {
		return Record{}, atomicfile.Fault("opening "+l.path, err)
	}
	defer f.Close()
	size, err := osFile{f}.Size()
	if err != nil {
		return Record{}, atomicfile.Fault("reading "+l.path, err)
	}
	return RecordAt(f, int64(at), size)
}
