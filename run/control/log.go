package control

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
)

// LogName is the name of the file with a directory's commands.
const LogName = "control.jsonl"

// The types of the records in control.jsonl.
const (
	typeBegin   = "begin"
	typeCommand = "command"
	typeDone    = "done"
	typeEnd     = "end"
)

// Begin is the record of a process that begins to work in the directory. What it was given
// replaces what commands had set before.
type Begin struct {
	Kind   string   `json:"kind,omitempty"` // of the work; commands to grading last only as long as it
	PID    int      `json:"pid"`
	Width  int      `json:"width,omitempty"`  // that was given to the process; 0: none
	Budget *float64 `json:"budget,omitempty"` // likewise, in US dollars; nil: none
}

// End is the record of a process that has ended its work in the directory.
type End struct {
	PID  int `json:"pid"`
	Code int `json:"exit_code"`
}

// done is the record of a command that cannot simply be carried out again and that is complete.
type done struct {
	ID string `json:"id"`
}

// command is the data of a command's record; the record has the rest of a [Record].
type command struct {
	Command
	UID  int    `json:"uid"`
	User string `json:"user,omitempty"`
	PID  int    `json:"sender_pid,omitempty"`
}

const damaged = "move it aside: the commands in it are then no longer in force"

// History has everything that control.jsonl has. A History of a file that does not exist is empty.
type History struct {
	Commands []Record

	// Begun and Ended are of the last process; nil: there was none, or it has not ended, or was
	// killed.
	Begun *Begin
	Ended *End

	done  map[string]bool
	brief map[string]bool // ids of commands to grading
	begun []int           // how many commands there were when a process began
	given []Begin
	above InForce // see Below
}

// Read returns what control.jsonl in dir has.
func Read(dir string) (*History, error) {
	var h History
	err := journal.ReadLog(filepath.Join(dir, LogName), damaged, h.take)
	if errors.Is(err, syscall.ENOTDIR) { // the caller finds out what is there
		err = nil
	}
	return &h, err
}

// take adds a record.
func (h *History) take(r journal.Record, _ journal.Place) error {
	switch r.Type {
	case typeBegin:
		b, err := journal.Decode[Begin](r)
		h.Begun, h.Ended = &b, nil
		h.begun, h.given = append(h.begun, len(h.Commands)), append(h.given, b)
		return err
	case typeEnd:
		e, err := journal.Decode[End](r)
		h.Ended = &e
		return err
	case typeDone:
		d, err := journal.Decode[done](r)
		h.finish(d.ID)
		return err
	case typeCommand:
		c, err := journal.Decode[command](r)
		h.add(c.record(r.Seq, r.Time))
		return err
	}
	return nil // of a later version
}

func (h *History) add(r Record) {
	h.Commands = append(h.Commands, r)
	if h.Begun == nil || h.Begun.Kind != KindGrade || r.Verb == Requeue {
		return // grading refuses a requeue: this one is of a process that has not begun yet
	}
	if h.brief == nil {
		h.brief = map[string]bool{}
	}
	h.brief[r.ID] = true
}

func (h *History) finish(id string) {
	if h.done == nil {
		h.done = map[string]bool{}
	}
	h.done[id] = true
}

func (c command) record(seq int64, at time.Time) Record {
	return Record{Command: c.Command, Seq: seq, Time: at, UID: c.UID, User: c.User, PID: c.PID}
}

// Log is the file control.jsonl of a directory that this process has locked, or without a file an empty
// one. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	file *journal.Log
	h    History
	byID map[string]Record
}

// NewLog returns an empty log without a file, for work that other programs do not control.
func NewLog() *Log { return &Log{byID: map[string]Record{}} }

// OpenLog opens the log of dir, or makes one.
func OpenLog(dir string) (*Log, error) {
	l := NewLog()
	var err error
	l.file, err = journal.OpenLog(filepath.Join(dir, LogName), journal.LogOptions{Hint: damaged}, l.h.take)
	for _, r := range l.h.Commands {
		l.byID[r.ID] = r
	}
	return l, err
}

// Begin records that a process begins to work.
func (l *Log) Begin(b Begin) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.write(typeBegin, b)
	if err == nil {
		l.h.Begun = &b
	}
	return err
}

// End records the exit code of the process.
func (l *Log) End(e End) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(typeEnd, e)
}

// write adds a record to the file, if there is one. l.mu is held.
func (l *Log) write(typ string, data any) error {
	if l.file == nil {
		return nil
	}
	_, err := l.file.Add(journal.Entry{Type: typ, Data: data})
	return err
}

// Below is [History.Below].
func (l *Log) Below(above InForce) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.h.Below(above)
}

// InForce returns what the commands of earlier processes leave in force.
func (l *Log) InForce() InForce {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.h.InForce()
}

// Recent returns the last commands, oldest first, without texts unless content is asked for.
func (l *Log) Recent(content bool) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := append([]Record{}, l.h.Commands[max(0, len(l.h.Commands)-maxRecent):]...)
	for i := range list {
		if !content {
			list[i].Text = ""
		}
	}
	return list
}

// find returns the record of a command that was given before.
func (l *Log) find(id string) (Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.byID[id]
	return r, ok
}

// Add appends a command to the file. It is durable on return.
func (l *Log) Add(r Record) (Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.byID[r.ID]; ok {
		return r, fault.Newf(fault.Bug, "command %s was recorded before", r.ID)
	}
	places, err := l.file.Add(journal.Entry{Type: typeCommand, Data: command{Command: r.Command, UID: r.UID, User: r.User, PID: r.PID}})
	if err != nil {
		return r, err
	}
	if saved, err := l.file.At(places[0]); err == nil {
		r.Seq, r.Time = saved.Seq, saved.Time
	}
	l.h.add(r)
	l.byID[r.ID] = r
	return r, nil
}

// Done records that a command is complete: it is not carried out again by the next process.
func (l *Log) Done(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.write(typeDone, done{ID: id})
	if err == nil {
		l.h.finish(id)
	}
	return err
}

// NewRecord returns the record of a command that this process gives itself.
func NewRecord(c Command) Record {
	uid := os.Getuid()
	return Record{Command: c, UID: uid, User: userName(uid), PID: os.Getpid()}
}
