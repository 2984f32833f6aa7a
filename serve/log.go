package serve

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
)

// logName is the name of a context's log in its instance's folder.
const logName = "a2a.jsonl"

// entry is a line of a context's log. Each type uses some of its fields.
type entry struct {
	Type string    `json:"type"`
	Time time.Time `json:"time"`

	// context: the context began. It is the first line.
	Owner string `json:"owner,omitempty"`
	Row   string `json:"row,omitempty"`

	Task a2a.TaskID `json:"task,omitempty"`

	// message: a message was accepted, for a new task or one that waited for it.
	Message *a2a.Message `json:"message,omitempty"`
	Keyed   bool         `json:"keyed,omitempty"` // it came with credentials

	// status: the task has ended or waits.
	Status *a2a.TaskStatus `json:"status,omitempty"`
	Cost   float64         `json:"cost,omitempty"` // US dollars, of the context so far

	// artifact: the task has made something.
	Artifact *product `json:"artifact,omitempty"`

	// push: notifications of the task go there. unpush: no more.
	Push   *a2a.PushConfig `json:"push,omitempty"`
	PushID string          `json:"push_id,omitempty"`
}

// The types of entries.
const (
	entryContext  = "context"
	entryMessage  = "message"
	entryStatus   = "status"
	entryArtifact = "artifact"
	entryPush     = "push"
	entryUnpush   = "unpush"
)

// product is an artifact of a task.
type product struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64 in JSON: exact
}

// place is where a line is in a log.
type place struct{ at, size int64 }

// contextLog is the log of one context. It is used by one goroutine at a time.
type contextLog struct {
	path string
	size int64
}

// append adds entries, durably; after a crash the first ones of them may be there. Where they
// cannot be written, the error is a fault and the log is as before.
func (l *contextLog) append(entries ...entry) ([]place, error) {
	var text bytes.Buffer
	var places []place
	for _, e := range entries {
		at := text.Len()
		line, err := json.Marshal(e)
		if err != nil {
			return nil, fault.New(fault.Bug, "writing a context's log", err)
		}
		text.Write(line)
		text.WriteByte('\n')
		places = append(places, place{l.size + int64(at), int64(text.Len() - at)})
	}
	if err := l.write(text.Bytes()); err != nil {
		return nil, atomicfile.Fault("writing a context's log", err)
	}
	l.size += int64(text.Len())
	return places, nil
}

func (l *contextLog) write(text []byte) (err error) {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	err = f.Truncate(l.size) // a crash may have left the beginning of a line
	if err == nil {
		_, err = f.WriteAt(text, l.size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Truncate(l.size) // the next append does it too
	}
	return err
}

// artifact reads an artifact.
func (l *contextLog) artifact(at place) (*product, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, atomicfile.Fault("reading a context's log", err)
	}
	defer f.Close()
	line := make([]byte, at.size)
	if _, err := f.ReadAt(line, at.at); err != nil {
		return nil, atomicfile.Fault("reading a context's log", err)
	}
	var e entry
	if err := json.Unmarshal(line, &e); err != nil || e.Artifact == nil {
		return nil, fault.Newf(fault.Instance, "reading a context's log: no artifact at byte %d", at.at)
	}
	return e.Artifact, nil
}

// newLog makes the folder of a context, durably.
func newLog(dir, id string) (*contextLog, error) {
	folder := filepath.Join(dir, id)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, atomicfile.Fault("creating a context's folder", err)
	}
	path := filepath.Join(folder, logName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Close()
	}
	for _, d := range []string{folder, dir} {
		if err == nil {
			err = atomicfile.Files{}.SyncDir(d)
		}
	}
	return &contextLog{path: path}, atomicfile.Fault("creating a context's log", err)
}

// openLog reads a log, and calls each with every entry. What a crash left of the last line
// is cut off with the next append. A log whose first line is missing was never answered for:
// ok is false.
func openLog(path string, each func(entry, place) error) (l *contextLog, ok bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false, atomicfile.Fault("reading a context's log", err)
	}
	l = &contextLog{path: path}
	whole, err := readLog(text, each)
	l.size = whole
	return l, whole > 0, err
}

// readLog decodes the lines of a log, and returns how many bytes of it are whole. A line
// that is not whole with others behind it is an Instance fault.
func readLog(text []byte, each func(entry, place) error) (whole int64, err error) {
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		var e entry
		decoded := json.Unmarshal(line, &e)
		if !ended || decoded != nil && len(rest) == 0 {
			return whole, nil
		}
		if decoded == nil {
			decoded = check(e, whole == 0)
		}
		if decoded != nil {
			return whole, fault.New(fault.Instance, "reading a context's log", decoded)
		}
		size := int64(len(line) + 1)
		if err := each(e, place{whole, size}); err != nil {
			return whole, err
		}
		whole += size
		text = rest
	}
	return whole, nil
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
	case entryPush:
		ok = e.Task != "" && e.Push != nil
	case entryUnpush:
		ok = e.Task != ""
	}
	if !ok || first != (e.Type == entryContext) {
		return fault.Newf(fault.Instance, "a line of the type %.20q cannot be there", e.Type)
	}
	return nil
}
