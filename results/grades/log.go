package grades

import (
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

// damaged says what to do about a damaged file.
const damaged = "move it away and grade again; the predictions are not affected"

// Path is the file of the run directory dir.
func Path(dir string) string { return filepath.Join(dir, File) }

// Options are the options of [Open]; the zero value works.
type Options struct {
	Files atomicfile.Files // asked before every write and fsync; for tests
	Mask  *mask.Masker     // hides secrets in Error, Why, Doubt, FailedInstall, Suspicious and Notes; nil hides nothing
}

// Log is the file of a run directory, open for appending. Its methods are safe for
// concurrent use.
type Log struct {
	mask *mask.Masker
	log  *journal.Log

	mu     sync.Mutex
	grades []Grade
}

// Open reads the file in dir for appending, and creates it if it does not exist. The caller owns
// the directory, such as results.Store, which opens the log in its method Grades.
func Open(dir string, o Options) (*Log, error) {
	l := &Log{mask: o.Mask}
	var err error
	l.log, err = journal.OpenLog(Path(dir), journal.LogOptions{Files: o.Files, Public: true, Hint: damaged}, taking(&l.grades))
	return l, err
}

// Recovered describes what Open removed after a crash, one text for each removal.
func (l *Log) Recovered() []string { return l.log.Recovered() }

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
	if _, err := l.log.Add(journal.Entry{Type: recordType, Data: g}); err != nil {
		return err
	}
	l.grades = append(l.grades, g)
	return nil
}

// check refuses a grade that would be useless to readers.
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

// All returns all grades, in the order of the file. The caller may change the list, but not
// the data that its grades refer to.
func (l *Log) All() []Grade {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.grades)
}

// Close makes each later Add fail.
func (l *Log) Close() error { return l.log.Close() }

// Read returns the grades in the run directory dir, in the order of the file; none if
// there is no file. It takes no lock. If a line is damaged, the error has its number, and
// the grades before it are returned.
func Read(dir string) (list []Grade, err error) {
	err = journal.ReadLog(Path(dir), damaged, taking(&list))
	return list, err
}

// taking returns a function that appends the grades of a file to list.
func taking(list *[]Grade) func(journal.Record, journal.Place) error {
	return func(r journal.Record, _ journal.Place) error {
		if r.Type != recordType {
			return nil
		}
		g, err := journal.Decode[Grade](r)
		if err == nil {
			*list = append(*list, g)
		}
		return err
	}
}
