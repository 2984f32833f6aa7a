package results

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/journal"
	"batch.example/batch/results/manifest"
)

// Names of the files in a run directory.
const (
	predsFile    = swebench.PredsName
	statusesFile = "exit_statuses.yaml"
	parquetFile  = "results.parquet"
	manifestFile = manifest.File
	journalFile  = "journal.jsonl"
	agentLogFile = "agent.log"
)

// Options are the settings of a [Store]; the zero value works.
type Options struct {
	Log   *slog.Logger // nil discards
	Owner string       // text of the lock; the next run's message shows its first line; empty: DefaultOwner

	// FlushEvery is the least time between two writings of the derived files (preds.json,
	// exit_statuses.yaml); 0 means one second. A crash loses nothing: Open completes them
	// from the journals.
	FlushEvery time.Duration

	// Mask hides secrets in files for people: see the package's documentation. Nil hides
	// nothing.
	Mask *mask.Masker

	Durability journal.Durability // of the journals of running attempts; empty: Power

	// Inject, if not nil, decides before every write, fsync and rename of the store whether
	// it fails. It is for tests.
	Inject *inject.Plan
}

// Store is a run directory that this process owns. Its methods are safe for concurrent use,
// also for the same instance.
type Store struct {
	*Reader
	lock   *flock.Flock
	files  atomicfile.Files
	mask   *mask.Masker
	looks  *mask.Masker // mask, or one that knows no secret: journals say that a record has none
	writer *deriver
	level  journal.Durability
	closed bool // guarded by mu
}

// Open opens the run directory dir, or makes one, and locks it. If another process (or
// another Store) owns it, the error wraps a [*LockedError]. Open first cleans up after
// crashed runs; [Reader.Recovered] reports that. The caller must Close the store.
func Open(dir string, o Options) (*Store, error) {
	dir = filepath.Clean(dir)
	if err := MakeDir(dir); err != nil {
		return nil, err
	}
	if o.Owner == "" {
		o.Owner = DefaultOwner()
	}
	l, dead, err := lock(dir, o.Owner, o.Inject)
	if err != nil {
		return nil, err
	}
	s := &Store{Reader: newReader(dir), lock: l, files: atomicfile.Files{Inject: o.Inject}, mask: o.Mask, looks: cmp.Or(o.Mask, mask.New()), level: o.Durability}
	s.SetLog(o.Log)
	s.tellDead(dead)
	changed, err := s.recover()
	if err != nil {
		return nil, joinUnlock(err, l)
	}
	s.writer = startDeriver(o.FlushEvery, s.flush)
	if changed || dead != "" {
		s.writer.markDirty()
	}
	return s, nil
}

// MakeDir creates dir, a run directory or another one that -o names, if it does not exist.
func MakeDir(dir string) error { return dirFault(os.MkdirAll(dir, 0o755)) }

// dirFault returns the error for a person if a directory cannot be made.
func dirFault(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fault.New(fault.Usage, "creating the output directory", err).
			WithHint("-o must name a directory; there is a file in its place")
	}
	return atomicfile.Fault("creating the output directory", err)
}

func (s *Store) addSpent(dollars, held float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent += dollars
	s.held += held
}

// instance returns the state of id, and makes a new one if necessary.
func (s *Store) instance(id string) (*instance, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, closedFault("instance " + id)
	}
	in := s.instances[id]
	if in == nil {
		in = &instance{id: id}
		s.instances[id] = in
	}
	return in, nil
}

// check refuses to write into a directory that was given up.
func (s *Store) check(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return closedFault(op)
	}
	return nil
}

func closedFault(op string) error {
	return fault.Newf(fault.Bug, "%s: the store is closed", op)
}

// Close ends open attempts, writes the trajectories of attempts that broke off, the derived files and
// results.parquet, and gives the directory up. A second Close does nothing; every other method that
// writes then returns a Bug fault.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	var open []*Attempt
	for _, in := range s.instances {
		if in.open != nil {
			open = append(open, in.open)
		}
	}
	s.mu.Unlock()
	var errs []error
	for _, a := range open {
		errs = append(errs, a.Close())
	}
	s.writeInterrupted()
	used, err := s.writer.stop()
	errs = append(errs, err)
	graded, err := s.closeGrades()
	errs = append(errs, err)
	if used || graded {
		errs = append(errs, s.writeParquet())
	}
	errs = append(errs, unlockFile(s.lock, s.files.Inject))
	return errors.Join(errs...)
}

// WritePredictions writes preds.json and exit_statuses.yaml now, without waiting for
// [Options.FlushEvery].
func (s *Store) WritePredictions(context.Context) error { return s.writer.flushNow() }

// WriteManifest replaces the manifest; it is durable on return. The format
// version is set by the store.
func (s *Store) WriteManifest(m *manifest.Manifest) error {
	if err := s.check("writing the manifest"); err != nil {
		return err
	}
	path := filepath.Join(s.dir, manifestFile)
	if _, err := manifest.Read(s.dir); fault.KindOf(err) == fault.Usage {
		if _, err := s.files.MoveAside(path); err != nil {
			return atomicfile.Fault("moving a broken manifest aside", err)
		}
	}
	m, err := m.Hidden(s.mask)
	if err != nil {
		return err
	}
	text, err := m.Text()
	if err != nil {
		return err
	}
	err = s.files.Write(path, 0o644, atomicfile.Bytes(text))
	return atomicfile.Fault("writing the manifest", err)
}
