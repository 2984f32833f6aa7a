package grades

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
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// File is the name of the file in a run directory.
const File = "grades.jsonl"

const recordType = "grade"

// Path is the file of the run directory dir.
func Path(dir string) string { return filepath.Join(dir, File) }

// Options are how a [Log] is opened; the zero value works.
type Options struct {
	Files atomicfile.Files // asked before every write and fsync; for tests
	Mask  *mask.Masker     // hides secrets in Error, Why, Doubt, FailedInstall, Suspicious and Notes; nil hides nothing
}

// Log is the file of a run directory, open for appending. Its methods are safe for
// concurrent use.
type Log struct {
	path   string
	mask   *mask.Masker
	notes  []string
	writer *journal.Writer

	mu     sync.Mutex
	grades []Grade
}

// Open opens the file in dir for appending, and creates it if it does not exist. The
// caller owns the directory (results.Store does, whose method Grades opens the log) and
// must Close the log.
func Open(dir string, o Options) (*Log, error) {
	l := &Log{path: Path(dir), mask: o.Mask}
	var err error
	if l.grades, err = Read(dir); err != nil {
		return nil, err
	}
	tail, err := l.recover(o.Files)
	if err != nil {
		return nil, err
	}
	l.writer, err = journal.Open(l.path, tail, journal.Options{Files: o.Files, Public: true, Spend: func(_, _ float64) {}})
	return l, err
}

// recover removes what follows the last whole record. A file without one may be another
// program's: it is moved aside.
func (l *Log) recover(files atomicfile.Files) (journal.Tail, error) {
	tail, err := journal.ReadTail(l.path)
	switch {
	case err != nil || tail.Torn == 0:
		return tail, err
	case tail.Last.Seq == 0:
		aside, err := files.MoveAside(l.path)
		l.notes = append(l.notes, fmt.Sprintf("%s had no whole record: moved to %s", File, filepath.Base(aside)))
		return tail, atomicfile.Fault("moving "+File+" aside", err)
	}
	l.notes = append(l.notes, fmt.Sprintf("%s: cut %d bytes of an incomplete record off its end, after record %d", File, tail.Torn, tail.Last.Seq))
	return tail, tail.Cut(l.path, files.Inject)
}

// Recovered says in words what a crash had left and Open removed.
func (l *Log) Recovered() []string { return slices.Clone(l.notes) }

// Add appends a grade; it is durable when Add returns nil. After an error, the grade may
// or may not be in the file.
func (l *Log) Add(g Grade) error {
	if err := check(g); err != nil {
		return err
	}
	g.Verdicts, g.Unstable = nil, false
	g.Error, g.Why, g.Doubt, g.FailedInstall = l.mask.Text(g.Error), l.mask.Text(g.Why), l.mask.Text(g.Doubt), l.mask.Text(g.FailedInstall)
	g.Suspicious, g.Notes = slices.Clone(g.Suspicious), slices.Clone(g.Notes)
	for _, list := range [][]string{g.Suspicious, g.Notes} {
		for i, text := range list {
			list[i] = l.mask.Text(text)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writer.Append(recordType, g); err != nil {
		return err
	}
	if err := l.writer.Sync(); err != nil {
		return err
	}
	l.grades = append(l.grades, g)
	return nil
}

// check refuses a grade that a reader could not use.
func check(g Grade) error {
	if err := vocab.CheckID(g.InstanceID); err != nil {
		return fault.Newf(fault.Bug, "adding a grade: instance id %q %w", g.InstanceID, err)
	}
	switch {
	case !slices.Contains(vocab.Verdicts(), g.Verdict):
		return fault.Newf(fault.Bug, "adding a grade of %s: unknown verdict %q", g.InstanceID, string(g.Verdict))
	case g.Attempt < 0 || g.Repeat < 0:
		return fault.Newf(fault.Bug, "adding a grade of %s: attempt %d, repeat %d: expected no negative number", g.InstanceID, g.Attempt, g.Repeat)
	case g.Log != "" && !filepath.IsLocal(filepath.FromSlash(g.Log)):
		return fault.Newf(fault.Bug, "adding a grade of %s: log %q: expected a path in the run directory", g.InstanceID, g.Log)
	}
	return nil
}

// All returns all grades, in the order of the file. The caller may change the list, but
// not what its grades refer to.
func (l *Log) All() []Grade {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.grades)
}

// Close closes the file. A second Close does nothing.
func (l *Log) Close() error { return l.writer.Close() }

// Read returns the grades in the run directory dir, in the order of the file; none if
// there is no file. It takes no lock. If a line is damaged, the error has its number, and
// the grades before it are returned.
func Read(dir string) ([]Grade, error) {
	path := Path(dir)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, atomicfile.Fault("opening "+File, err)
	}
	defer f.Close()
	var list []Grade
	_, err = journal.Scan(f, func(r journal.Record) error {
		if r.Type != recordType {
			return nil
		}
		var g Grade
		if err := json.Unmarshal(r.Data, &g); err != nil {
			return fault.New(fault.Instance, fmt.Sprintf("line %d is not a grade", r.Seq), err)
		}
		list = append(list, g)
		return nil
	})
	if err != nil {
		return list, fault.New(fault.KindOf(err), "reading "+path, err).
			WithHint("move it away and grade again; the predictions are not affected")
	}
	return list, nil
}
