package serve

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/journal"
)

// logName is the name of a context's log in its instance's folder.
const logName = "a2a.jsonl"

// entry is the data of a record in a context's log. Each type uses some of the fields.
type entry struct {
	Type string    `json:"-"` // the record's type
	Time time.Time `json:"time"`

	// context: the context began. It is the first line.
	Owner string `json:"owner,omitempty"`
	Row   string `json:"row,omitempty"`

	Task a2a.TaskID `json:"task,omitempty"`

	// message: a message was accepted, for a new task or for a task that waited for it.
	Message *a2a.Message `json:"message,omitempty"`
	Keyed   bool         `json:"keyed,omitempty"` // it came with credentials

	// status: the task ended or waits.
	Status *a2a.TaskStatus `json:"status,omitempty"`

	// artifact: the task has a new artifact.
	Artifact *product `json:"artifact,omitempty"`
}

// The types of entries.
const (
	entryContext  = "context"
	entryMessage  = "message"
	entryStatus   = "status"
	entryArtifact = "artifact"
	entryPush     = "push" // and unpush: earlier servers sent notifications
	entryUnpush   = "unpush"
)

// product is an artifact of a task.
type product struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64 in JSON: exact
}

// contextLog is the log of one context; see [journal.Log].
type contextLog struct{ *journal.Log }

// append adds entries durably. After a crash, only the first of them may exist.
func (l *contextLog) append(entries ...entry) ([]journal.Place, error) {
	list := make([]journal.Entry, len(entries))
	for i, e := range entries {
		list[i] = journal.Entry{Type: e.Type, Data: e}
	}
	return l.Add(list...)
}

// artifact reads an artifact.
func (l *contextLog) artifact(at journal.Place) (*product, error) {
	r, err := l.At(at)
	if err != nil {
		return nil, err
	}
	e, err := decoded(r)
	if err != nil || e.Artifact == nil {
		return nil, fault.Newf(fault.Instance, "reading a context's log: no artifact at byte %d", at)
	}
	return e.Artifact, nil
}

// newLog creates the folder of a context durably.
func newLog(dir, id string) (*contextLog, error) {
	folder := filepath.Join(dir, id)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, atomicfile.Fault("creating a context's folder", err)
	}
	if err := (atomicfile.Files{}).SyncDir(dir); err != nil {
		return nil, atomicfile.Fault("creating a context's folder", err)
	}
	l, _, err := openLog(filepath.Join(folder, logName), func(entry, journal.Place) error { return nil })
	return l, err
}

// openLog reads a log and calls each with every entry. A last line that a crash left incomplete is
// cut off. ok is false if the first line is missing: then no caller ever got an answer about the
// context.
func openLog(path string, each func(entry, journal.Place) error) (l *contextLog, ok bool, err error) {
	if err := checkForm(path); err != nil {
		return nil, false, err
	}
	log, err := journal.OpenLog(path, journal.LogOptions{}, reading(each))
	if err != nil {
		return nil, false, err
	}
	return &contextLog{log}, !log.Empty(), nil
}

// reading returns a function that calls each with the entries of records.
func reading(each func(entry, journal.Place) error) func(journal.Record, journal.Place) error {
	return func(r journal.Record, at journal.Place) error {
		e, err := decoded(r)
		if err == nil {
			err = check(e, r.Seq == 1)
		}
		if err != nil {
			return err
		}
		return each(e, at)
	}
}

func decoded(r journal.Record) (entry, error) {
	e, err := journal.Decode[entry](r)
	e.Type = r.Type
	return e, err
}

// readLog calls each with every entry of a log, without changing it.
func readLog(path string, each func(entry) error) error {
	if err := checkForm(path); err != nil {
		return err
	}
	return journal.ReadLog(path, "", reading(func(e entry, _ journal.Place) error { return each(e) }))
}

// checkForm refuses a log whose lines have no checksums, which early versions of batch wrote.
func checkForm(path string) error {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return atomicfile.Fault("reading a context's log", err)
	}
	defer f.Close()
	const old = `{"type":`
	head := make([]byte, len(old))
	if n, _ := io.ReadFull(f, head); string(head[:n]) == old { // journal.ReadLog reports what cannot be read
		return fault.Newf(fault.Usage, "reading %s: an early version of batch wrote it, without checksums", path).
			WithHint("continue its context with that version, or move its folder aside")
	}
	return nil
}

// check refuses an entry without what its type needs.
func check(e entry, first bool) error {
	ok := false
	switch e.Type {
	case entryContext:
		ok = first
	case entryMessage:
		ok = e.Task != "" && e.Message != nil
	case entryStatus:
		ok = e.Task != "" && e.Status != nil
	case entryArtifact:
		ok = e.Task != "" && e.Artifact != nil
	case entryPush, entryUnpush:
		ok = e.Task != ""
	}
	if !ok || first != (e.Type == entryContext) {
		return fault.Newf(fault.Instance, "a line of the type %.20q cannot be there", e.Type)
	}
	return nil
}
