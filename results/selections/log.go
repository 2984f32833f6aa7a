package selections

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
)

// File is the name of the file.
const File = "selection.jsonl"

// The types of its records.
const (
	typeSelection = "selection"
	typeAsked     = "asked"
	typeReply     = "judged"
	typeUnpaid    = "unpaid"
	typeTested    = "tested"
)

// Records are what a file has, each in its order.
type Records struct {
	Selections []Selection
	Replies    []Reply
	Tested     []Tested
	Unanswered []Asked // calls of a judge whose cost is not known: no reply is, or the price is not
}

// Held returns what the unanswered calls may have cost, in US dollars.
func (r *Records) Held() (sum float64) {
	for _, asked := range r.Unanswered {
		sum += asked.Reserved
	}
	return sum
}

// Unpriced returns how many of the unanswered calls were answered, at a cost that is not known.
func (r *Records) Unpriced() (n int) {
	for _, reply := range r.Replies {
		if reply.Unpriced {
			n++
		}
	}
	return n
}

// settle takes back the last call about an instance: it was answered, or was not charged.
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
	mask   *mask.Masker
	writer *journal.Writer
	notes  []string

	mu  sync.Mutex
	all Records
}

// Options are how a [Log] is opened; the zero value works.
type Options struct {
	Files atomicfile.Files // asked before every write and fsync; for tests
	Mask  *mask.Masker     // hides secrets in texts; nil hides nothing
}

// Open opens the file in dir for appending, and creates it if it does not exist. The caller
// owns the directory and must Close the log.
func Open(dir string, o Options) (*Log, error) {
	all, err := Read(dir)
	if err != nil {
		return nil, err
	}
	l := &Log{mask: o.Mask, all: *all}
	path := filepath.Join(dir, File)
	tail, err := journal.ReadTail(path)
	if err != nil {
		return nil, err
	}
	if tail.Torn > 0 {
		l.notes = append(l.notes, fmt.Sprintf("%s: cut %d bytes of an incomplete record off its end", File, tail.Torn))
		if err := tail.Cut(path, o.Files.Inject); err != nil {
			return nil, err
		}
	}
	l.writer, err = journal.Open(path, tail, journal.Options{Files: o.Files, Public: true, Spend: func(_, _ float64) {}})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Recovered says in words what a crash had left and Open removed.
func (l *Log) Recovered() []string { return slices.Clone(l.notes) }

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

// AddUnpaid appends that the last call about an instance was not charged.
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
	if err := l.writer.Append(typ, v); err != nil {
		return err
	}
	if err := l.writer.Sync(); err != nil {
		return err
	}
	keep(&l.all)
	return nil
}

// All returns all records. The caller may change the lists, but not what they refer to.
func (l *Log) All() Records {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Records{slices.Clone(l.all.Selections), slices.Clone(l.all.Replies), slices.Clone(l.all.Tested), slices.Clone(l.all.Unanswered)}
}

// Close closes the file. A second Close does nothing.
func (l *Log) Close() error { return l.writer.Close() }

// Read returns what the file in dir has; nothing if there is no file. It takes no lock. A
// damaged line is an error with its number.
func Read(dir string) (*Records, error) {
	all := &Records{}
	path := filepath.Join(dir, File)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, atomicfile.Fault("opening "+File, err)
	}
	defer f.Close()
	if _, err := journal.Scan(f, all.take); err != nil {
		return nil, fault.New(fault.KindOf(err), "reading "+path, err).
			WithHint("select again into another directory")
	}
	return all, nil
}

func (r *Records) take(record journal.Record) (err error) {
	switch record.Type {
	case typeSelection:
		r.Selections, err = appended(r.Selections, record)
	case typeAsked:
		r.Unanswered, err = appended(r.Unanswered, record)
	case typeReply:
		var replies []Reply
		if replies, err = appended(replies, record); err == nil {
			r.reply(replies[0])
		}
	case typeUnpaid:
		var u []Unpaid
		if u, err = appended(u, record); err == nil {
			r.settle(u[0].InstanceID)
		}
	case typeTested:
		r.Tested, err = appended(r.Tested, record)
	}
	return err
}

func appended[T any](list []T, record journal.Record) ([]T, error) {
	var v T
	if err := json.Unmarshal(record.Data, &v); err != nil {
		return list, fault.New(fault.Instance, fmt.Sprintf("line %d is not a record of type %s", record.Seq, record.Type), err)
	}
	return append(list, v), nil
}
