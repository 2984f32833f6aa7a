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

// Reader has the content of a run directory. [Look] makes one, and each [Store] has one. A
// Reader changes nothing on disk. Its methods are safe for concurrent use.
type Reader struct {
	dir       string
	log       atomic.Pointer[slog.Logger]
	recovered []string
	damaged   func(note string) // reports unreadable grades
	grading   grading

	mu        sync.Mutex
	instances map[string]*instance
	preds     predictionList
	spent     float64
	held      float64 // the part of spent for unanswered calls
}

func newReader(dir string) *Reader {
	rd := &Reader{dir: dir, instances: map[string]*instance{}}
	rd.damaged = func(note string) { rd.log.Load().Warn(note) }
	rd.SetLog(nil)
	return rd
}

// instance is the state of one instance.
type instance struct {
	id string

	// Every change of the instance's files holds work.
	work sync.Mutex

	// The rest is guarded by Reader.mu.
	past   []pastAttempt     // ended or crashed, in order
	number int               // of the last attempt that began
	state  state             // of the last attempt
	made   manifest.Settings // of the last attempt; set if it can be resumed
	open   *Attempt
}

// state is the state of an instance's last attempt.
type state int

const (
	unstarted state = iota // no attempt, or it was reset, or another one must begin
	running                // this process began or resumed it; it has no result yet
	abandoned              // as running, but closed: its result may still follow
	crashed                // an earlier run began it; it has no end record
	stopped                // it did not end by itself, and can be resumed
	final                  // it has a result
)

func (s state) resumable() bool { return s == abandoned || s == crashed || s == stopped }

// owed reports whether this process must still deliver the result.
func (s state) owed() bool { return s == running || s == abandoned }

// brokenOff reports whether the attempt has no end record and does not run in this process.
func (s state) brokenOff() bool { return s == abandoned || s == crashed }

// pastAttempt is an attempt that is over.
type pastAttempt struct {
	Record Record  `json:"record"`
	Spent  float64 `json:"spent"` // never less than Record.Cost or the sum of the journal's replies
}

// countHeld completes the record of an old version, which did not count calls without an
// answer.
func (p *pastAttempt) countHeld() {
	if p.Record.Held == 0 {
		p.Record.Held = max(0, journal.Difference(p.Spent, p.Record.Cost))
	}
}

// SetLog replaces [Options.Log], for a log in the directory, which can be opened only after
// locking. Nil discards.
func (rd *Reader) SetLog(log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	rd.log.Store(log)
}

// Dir returns the directory as it was given, cleaned.
func (rd *Reader) Dir() string { return rd.dir }

// Recovered describes the damage and the leftovers that Open found, and what it did about
// them; empty if there were none.
func (rd *Reader) Recovered() []string { return slices.Clone(rd.recovered) }

// Finished reports whether the instance has a result that a resume keeps, and returns it.
// It is the result of the last attempt if its outcome is final. Otherwise it is another
// tool's prediction that counts as done: with a patch, or with a trajectory that the agent
// itself ended.
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

// Records returns the record of every attempt that has ended, sorted by instance id, then
// attempt. An attempt that a crash ended is Pending with the status "Interrupted". Attempt
// 0 is another tool's prediction. Each record has the grade that counts for its prediction.
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
		if r, ok := rd.replaced(in); ok {
			out = append(out, r)
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

// Spent returns the US dollars of every attempt ever journalled here: ended, crashed,
// reset, and running ones. It includes running calls, and unanswered calls that may have
// been charged.
func (rd *Reader) Spent() float64 {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	return rd.spent
}

// Cost returns the US dollars of answered calls: [Reader.Spent] without unanswered ones.
func (rd *Reader) Cost() float64 {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	return max(0, journal.Difference(rd.spent, rd.held))
}

func (rd *Reader) path(id, name string) string { return filepath.Join(rd.dir, id, name) }

// Manifest returns the directory's manifest, and whether there is a readable one.
// [Store.WriteManifest] moves a broken or newer one aside and does not overwrite it.
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
