package results

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results/manifest"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// Names of the files in a run directory.
const (
	predsFile    = swebench.PredsName
	statusesFile = "exit_statuses.yaml"
	parquetFile  = "results.parquet"
	manifestFile = manifest.File
	batchLogFile = "batch.log"
	journalFile  = "journal.jsonl"
	agentLogFile = "agent.log"
)

// Options are the settings of a [Store]; the zero value works.
type Options struct {
	Log   *slog.Logger // nil discards
	Owner string       // who holds the lock, for the next run's message: its first line; empty: DefaultOwner

	// FlushEvery is the least time between two writings of the derived files
	// (preds.json, exit_statuses.yaml); 0 means one second. A crash loses
	// nothing by it: Open completes them from the journals.
	FlushEvery time.Duration

	// Mask hides secrets in what is written for people: see the package's
	// documentation. Nil hides nothing.
	Mask *mask.Masker

	Durability journal.Durability // of the journals of running attempts; empty: Power

	// ReadOnly looks at a directory as Open would find it, and refuses what Open would
	// refuse, but takes no lock and writes nothing. A directory that does not exist is
	// empty. Whatever would write is then a Bug fault; Close does nothing.
	ReadOnly bool

	// Inject, when not nil, is asked before every write, fsync and rename of
	// the store whether that is to fail. It is for tests.
	Inject *inject.Plan
}

// Store is a run directory that this process owns. Its methods are safe for
// concurrent use, those that name an instance also for the same instance.
type Store struct {
	dir       string
	log       atomic.Pointer[slog.Logger]
	lock      *flock.Flock
	files     atomicfile.Files
	mask      *mask.Masker
	recovered []string
	reading   bool // nothing on disk is changed, see Read and Options.ReadOnly
	lenient   bool // an instance that cannot be read is reported, see Read

	unreadable []string // such instances
	writer     *deriver
	level      journal.Durability
	grading    grading

	mu        sync.Mutex
	instances map[string]*instance
	preds     predictionList
	spent     float64
	held      float64 // of spent: of calls that were not answered
	closed    bool
}

// instance is what the store knows of one instance.
type instance struct {
	id string

	// work is held by whatever changes the instance's files.
	work sync.Mutex

	// The rest is guarded by Store.mu.
	past   []pastAttempt     // ended or crashed, in order
	number int               // of the last attempt that began
	state  state             // of the last attempt
	made   manifest.Settings // of the last attempt; where state is resumable
	open   *Attempt
}

// state says where an instance's last attempt stands.
type state int

const (
	unstarted state = iota // there is none, it was reset, or another one must begin
	running                // it was begun or resumed here, and has no result yet
	abandoned              // so it was, and was closed: its result may still come
	crashed                // it was begun by an earlier run, and no record ends it
	stopped                // it ended, not by itself: it can be resumed
	final                  // it has a result
)

func (s state) resumable() bool { return s == abandoned || s == crashed || s == stopped }

// owed reports whether this process is to bring the result.
func (s state) owed() bool { return s == running || s == abandoned }

// brokenOff reports whether no record ends the attempt, which nobody works on here.
func (s state) brokenOff() bool { return s == abandoned || s == crashed }

// pastAttempt is an attempt that is over.
type pastAttempt struct {
	Record Record  `json:"record"`
	Spent  float64 `json:"spent"` // never less than Record.Cost or the journalled replies' sum
}

// countHeld completes the record of a version that did not count calls without an answer.
func (p *pastAttempt) countHeld() {
	if p.Record.Held == 0 {
		p.Record.Held = max(0, journal.Difference(p.Spent, p.Record.Cost))
	}
}

// Open makes dir a run directory, or takes it up again, and locks it. When
// another process (or another Store) owns it, the error wraps a [*LockedError].
// Whatever crashed runs left is put in order first, and reported by
// [Store.Recovered]. The caller must Close the store.
func Open(dir string, o Options) (*Store, error) {
	dir = filepath.Clean(dir)
	if o.ReadOnly {
		return look(dir, o)
	}
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
	s := &Store{
		dir: dir, lock: l, files: atomicfile.Files{Inject: o.Inject}, mask: o.Mask, level: o.Durability,
		instances: map[string]*instance{},
	}
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

// MakeDir creates dir, a run directory or another one that -o names, if it is not there.
func MakeDir(dir string) error { return dirFault(os.MkdirAll(dir, 0o755)) }

// dirFault is what a person reads of a directory that cannot be made.
func dirFault(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fault.New(fault.Usage, "creating the output directory", err).
			WithHint("-o must name a directory; there is a file in its place")
	}
	return atomicfile.Fault("creating the output directory", err)
}

// SetLog replaces [Options.Log], for a log that stands in the directory and so
// can be opened only when that is locked. Nil discards.
func (s *Store) SetLog(log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s.log.Store(log)
}

// Dir returns the directory as it was given, cleaned.
func (s *Store) Dir() string { return s.dir }

// Recovered tells in words what Open found broken or left over and what it did
// about it; empty when all was in order.
func (s *Store) Recovered() []string { return slices.Clone(s.recovered) }

// Finished reports whether the instance has a result that a resume keeps, and
// that result. It is the last attempt's when its outcome is final, or else the
// prediction of another tool that counts as done: one with a patch, or one
// whose trajectory says that the agent ended it.
func (s *Store) Finished(id string) (Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.preds.get(id)
	if p != nil && p.foreign != nil {
		return s.foreignRecord(p)
	}
	if in := s.instances[id]; in != nil && in.state == final {
		return in.past[len(in.past)-1].Record, true
	}
	return Record{}, false
}

// Records returns the record of every attempt that is over, by instance id,
// then attempt. An attempt that a crash ended is Pending with the status
// "Interrupted". Attempt 0 is a prediction that another tool made. Each record has the
// grade that counts for its prediction.
func (s *Store) Records() []Record {
	out := s.records()
	s.joinGrades(out)
	slices.SortFunc(out, func(a, b Record) int {
		if c := strings.Compare(a.InstanceID, b.InstanceID); c != 0 {
			return c
		}
		return a.Attempt - b.Attempt
	})
	return out
}

func (s *Store) records() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Record
	for _, in := range s.instances {
		for _, p := range in.past {
			out = append(out, p.Record)
		}
	}
	for _, p := range s.preds.entries {
		if p.foreign != nil {
			r, _ := s.foreignRecord(p)
			out = append(out, r)
		}
	}
	return out
}

// Spent returns the US dollars of every attempt ever journalled here: ended,
// crashed, reset, and running ones. Calls that were not answered and may have been
// charged count, those that are under way too.
func (s *Store) Spent() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent
}

// Cost returns the US dollars of answered calls: [Store.Spent] without the others.
func (s *Store) Cost() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, journal.Difference(s.spent, s.held))
}

func (s *Store) addSpent(dollars, held float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent += dollars
	s.held += held
}

// instance returns the state of id, making it when it is new.
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

// check refuses what would write into a directory that was given up.
func (s *Store) check(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return closedFault(op)
	}
	return nil
}

// checkID refuses an instance id that cannot name a folder.
func checkID(id string) error {
	if err := vocab.CheckID(id); err != nil {
		return fault.Newf(fault.Instance, "instance id %q %w and cannot name a folder", id, err)
	}
	return nil
}

func closedFault(op string) error {
	return fault.Newf(fault.Bug, "%s: the store is closed", op)
}

func (s *Store) path(id, name string) string { return filepath.Join(s.dir, id, name) }

// Close ends open attempts, writes the trajectories of those that broke off, the
// derived files and results.parquet, and gives the directory up. A second Close does nothing; every other method that
// writes is a Bug fault from then on.
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

// WritePredictions writes preds.json and exit_statuses.yaml now, rather than
// within [Options.FlushEvery].
func (s *Store) WritePredictions(context.Context) error { return s.writer.flushNow() }

// Manifest returns the manifest that stands in the directory, and whether
// there is one that can be read. A broken or newer one is moved aside by
// [Store.WriteManifest] rather than overwritten.
func (s *Store) Manifest() (*manifest.Manifest, bool) {
	m, err := manifest.Read(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Load().Warn("the manifest cannot be read", "err", err)
	}
	return m, err == nil
}

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
	text, err := m.Text(s.mask.JSON)
	if err != nil {
		return err
	}
	err = s.files.Write(path, 0o644, atomicfile.Bytes(text))
	return atomicfile.Fault("writing the manifest", err)
}
