package results

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// Reader is what stands in a run directory. [Look] makes one, and each [Store] has one. A
// Reader changes nothing on disk. Its methods are safe for concurrent use.
type Reader struct {
	dir       string
	log       atomic.Pointer[slog.Logger]
	recovered []string
	damaged   func(note string) // reports what cannot be read of the grades
	grading   grading

	mu        sync.Mutex
	instances map[string]*instance
	preds     predictionList
	spent     float64
	held      float64 // of spent: of calls that were not answered
}

func newReader(dir string) *Reader {
	rd := &Reader{dir: dir, instances: map[string]*instance{}}
	rd.damaged = func(note string) { rd.log.Load().Warn(note) }
	rd.SetLog(nil)
	return rd
}

// instance is what is known of one instance.
type instance struct {
	id string

	// work is held by whatever changes the instance's files.
	work sync.Mutex

	// The rest is guarded by Reader.mu.
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

// SetLog replaces [Options.Log], for a log that stands in the directory and so
// can be opened only when that is locked. Nil discards.
func (rd *Reader) SetLog(log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	rd.log.Store(log)
}

// Dir returns the directory as it was given, cleaned.
func (rd *Reader) Dir() string { return rd.dir }

// Recovered tells in words what Open found broken or left over and what it did
// about it; empty when all was in order.
func (rd *Reader) Recovered() []string { return slices.Clone(rd.recovered) }

// Finished reports whether the instance has a result that a resume keeps, and
// that result. It is the last attempt's when its outcome is final, or else the
// prediction of another tool that counts as done: one with a patch, or one
// whose trajectory says that the agent ended it.
func (rd *Reader) Finished(id string) (Record, bool) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	p := rd.preds.get(id)
	if p != nil && p.foreign != nil {
		return rd.foreignRecord(p)
	}
	if in := rd.instances[id]; in != nil && in.state == final {
		return in.past[len(in.past)-1].Record, true
	}
	return Record{}, false
}

// Records returns the record of every attempt that is over, by instance id,
// then attempt. An attempt that a crash ended is Pending with the status
// "Interrupted". Attempt 0 is a prediction that another tool made. Each record has the
// grade that counts for its prediction.
func (rd *Reader) Records() []Record {
	out := rd.records()
	rd.joinGrades(out)
	slices.SortFunc(out, func(a, b Record) int {
		if c := strings.Compare(a.InstanceID, b.InstanceID); c != 0 {
			return c
		}
		return a.Attempt - b.Attempt
	})
	return out
}

func (rd *Reader) records() []Record {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	var out []Record
	for _, in := range rd.instances {
		for _, p := range in.past {
			out = append(out, p.Record)
		}
	}
	for _, p := range rd.preds.entries {
		if p.foreign != nil {
			r, _ := rd.foreignRecord(p)
			out = append(out, r)
		}
	}
	return out
}

// Spent returns the US dollars of every attempt ever journalled here: ended,
// crashed, reset, and running ones. Calls that were not answered and may have been
// charged count, those that are under way too.
func (rd *Reader) Spent() float64 {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	return rd.spent
}

// Cost returns the US dollars of answered calls: [Reader.Spent] without the others.
func (rd *Reader) Cost() float64 {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	return max(0, journal.Difference(rd.spent, rd.held))
}

func (rd *Reader) path(id, name string) string { return filepath.Join(rd.dir, id, name) }

// Manifest returns the manifest that stands in the directory, and whether
// there is one that can be read. A broken or newer one is moved aside by
// [Store.WriteManifest] rather than overwritten.
func (rd *Reader) Manifest() (*manifest.Manifest, bool) {
	m, err := manifest.Read(rd.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		rd.log.Load().Warn("the manifest cannot be read", "err", err)
	}
	return m, err == nil
}

// checkID refuses an instance id that cannot name a folder.
func checkID(id string) error {
	if err := vocab.CheckID(id); err != nil {
		return fault.Newf(fault.Instance, "instance id %q %w and cannot name a folder", id, err)
	}
	return nil
}
