package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/journal"
)

// oldEntry is a line of a log from a version of batch before logs had checksums.
type oldEntry struct {
	Type string `json:"type"`
	entry
}

// oldEntries reads a log of an earlier version; old is false if the log at path has the current
// form.
func oldEntries(path string) (list []entry, old bool, err error) {
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, atomicfile.Fault("reading a context's log", err)
	}
	if !bytes.HasPrefix(text, []byte(`{"type":`)) {
		return nil, false, nil
	}
	list, err = readOld(text)
	return list, true, err
}

// readOld decodes the complete lines of a log. An incomplete line before the last one is an
// Instance fault.
func readOld(text []byte) (list []entry, err error) {
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		var e oldEntry
		err := json.Unmarshal(line, &e)
		if !ended || err != nil && len(rest) == 0 {
			return list, nil
		}
		e.entry.Type = e.Type
		if err == nil {
			err = check(e.entry, len(list) == 0)
		}
		if err != nil {
			return list, fault.New(fault.Instance, "reading a context's log", err)
		}
		list, text = append(list, e.entry), rest
	}
	return list, nil
}

// convert replaces a log of an earlier version by a current one with the same entries.
func convert(path string) error {
	list, old, err := oldEntries(path)
	if err != nil || !old || len(list) == 0 {
		return err
	}
	made := path + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) { // a crash may have left it
		return atomicfile.Fault("converting a context's log", err)
	}
	l, err := journal.OpenLog(made, journal.LogOptions{}, func(journal.Record, journal.Place) error { return nil })
	if err != nil {
		return err
	}
	if _, err := (&contextLog{l}).append(list...); err != nil {
		return err
	}
	if err = os.Rename(made, path); err == nil {
		err = atomicfile.Files{}.SyncDir(filepath.Dir(path))
	}
	return atomicfile.Fault("converting a context's log", err)
}
