package selections

import (
	"path/filepath"
	"slices"
	"sync"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
)

// File is the name of the file.
const File = "selection.jsonl"

// damaged says what to do about a damaged file.
const damaged = "select again into another directory"

// The types of its records.
const (
	typeSelection = "selection"
	typeAsked     = "asked"
	typeReply     = "judged"
	typeUnpaid    = "unpaid"
	typeTested    = "tested"
)

// Records has the records of a file, each type in its order.
type Records struct {
	Selections []Selection
	Replies    []Reply
	Tested     []Tested
	Unanswered []Asked // calls of a judge of unknown cost: without a reply, or without a price
}

// Held returns the possible cost of the unanswered calls, in US dollars.
func (r *Records) Held() (sum float64) {
	for _, asked := range r.Unanswered {
		sum += asked.Reserved
	}
	return sum
}

// Unpriced returns how many of the Unanswered calls were answered, at an unknown cost.
func (r *Records) Unpriced() (n int) {
	for _, reply := range r.Replies {
		if reply.Unpriced {
			n++
		}
	}
	return n
}

// settle removes the last call about an instance: it was answered, or was not charged.
func (r *Records) settle(id string) {
	for i, asked := range slices.Backward(r.Unanswered) {
		if asked.InstanceID == id {
			r.Unanswered = slices.Delete(r.Unanswered, i, i+1)
			return
		}
	}
}

// reply takes the reply to the last call about an instance.
func (r *Records) reply(reply Reply) {
	r.Replies = append(r.Replies, reply)
	if !reply.Unpriced {
		r.settle(reply.InstanceID)
	}
}

// Latest returns the selection that counts of each instance.
func (r *Records) Latest() map[string]Selection {
	last := map[string]Selection{}
	for _, s := range r.Selections {
		last[s.InstanceID] = s
	}
	return last
}

// Cost returns the US dollars of all replies.
func (r *Records) Cost() (sum float64) {
	for _, reply := range r.Replies {
		sum += reply.Cost
	}
	return sum
}

// Log is the file of a directory, open for appending. Its methods are safe for concurrent
// use.
type Log struct {
	mask *mask.Masker
	log  *journal.Log

	mu  sync.Mutex
	all Records
}

// Options are the options of [Open]; the zero value works.
type Options struct {
	Files atomicfile.Files // asked before every write and fsync; for tests
	Mask  *mask.Masker     // hides secrets in texts; nil hides nothing
}

// Open reads the file in dir for appending, and creates it if it does not exist. The caller owns
// the directory.
func Open(dir string, o Options) (*Log, error) {
	l := &Log{mask: o.Mask}
	var err error
	l.log, err = journal.OpenLog(filepath.Join(dir, File), journal.LogOptions{Files: o.Files, Public: true, Hint: damaged}, l.all.take)
	return l, err
}

// Recovered describes what Open removed after a crash, one text for each removal.
func (l *Log) Recovered() []string { return l.log.Recovered() }

// AddSelection appends a selection.
func (l *Log) AddSelection(s Selection) error {
	s.Why = l.mask.Text(s.Why)
	return l.add(typeSelection, s, func(all *Records) { all.Selections = append(all.Selections, s) })
}

// AddAsked appends a call that is about to be made. Calls about one instance are made one after
// the other.
func (l *Log) AddAsked(a Asked) error {
	return l.add(typeAsked, a, func(all *Records) { all.Unanswered = append(all.Unanswered, a) })
}

// AddUnpaid records that the last call about an instance was not charged.
func (l *Log) AddUnpaid(u Unpaid) error {
	return l.add(typeUnpaid, u, func(all *Records) { all.settle(u.InstanceID) })
}

// AddReply appends the reply to the last call about an instance, with its secrets hidden.
func (l *Log) AddReply(r Reply) error {
	r.Text = l.mask.Text(r.Text)
	return l.add(typeReply, r, func(all *Records) {
		all.reply(r)
	})
}

// AddTested appends a test run.
func (l *Log) AddTested(t Tested) error {
	t.Note = l.mask.Text(t.Note)
	return l.add(typeTested, t, func(all *Records) { all.Tested = append(all.Tested, t) })
}

// add appends a record, durably, and keeps it.
func (l *Log) add(typ string, v any, keep func(*Records)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.log.Add(journal.Entry{Type: typ, Data: v}); err != nil {
		return err
	}
	keep(&l.all)
	return nil
}

// All returns all records. The caller may change the lists, but not the data that they
// refer to.
func (l *Log) All() Records {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Records{slices.Clone(l.all.Selections), slices.Clone(l.all.Replies), slices.Clone(l.all.Tested), slices.Clone(l.all.Unanswered)}
}

// Close makes each later addition fail.
func (l *Log) Close() error { return l.log.Close() }

// Read returns the records of the file in dir; none if there is no file. It takes no lock.
// A damaged line is an error with its number.
func Read(dir string) (*Records, error) {
	all := &Records{}
	if err := journal.ReadLog(filepath.Join(dir, File), damaged, all.take); err != nil {
		return nil, err
	}
	return all, nil
}

func (r *Records) take(record journal.Record, _ journal.Place) (err error) {
	switch record.Type {
	case typeSelection:
		err = taken(record, func(s Selection) { r.Selections = append(r.Selections, s) })
	case typeAsked:
		err = taken(record, func(a Asked) { r.Unanswered = append(r.Unanswered, a) })
	case typeReply:
		err = taken(record, r.reply)
	case typeUnpaid:
		err = taken(record, func(u Unpaid) { r.settle(u.InstanceID) })
	case typeTested:
		err = taken(record, func(t Tested) { r.Tested = append(r.Tested, t) })
	}
	return err
}

// taken calls take with the data of a record.
func taken[T any](record journal.Record, take func(T)) error {
	v, err := journal.Decode[T](record)
	if err == nil {
		take(v)
	}
	return err
}
